/*
 *  Models mesh_t::sum_segment and mesh_t::agree (src/mesh/collectives.cpp): three processes take two collectives in a row,
 *  each of which sends everybody's value to everybody and waits for all. Messages between two processes may overtake each
 *  other (channels below are read in any order), as UCX's may where tags differ; a tag carries the epoch.
 *
 *  A process's value in epoch e is a function of its rank and e, so a sum shows whose values it holds. Claims: every sum
 *  holds exactly the values of its own epoch, added in the order of ranks whatever the order of arrival; all end.
 *
 *  -DFAULT: the tag leaves out the epoch. Spin must find that a fast process's next value is taken for its present one.
 */
#define PROCESSES 3
#define EPOCHS 2
#define VALUE(rank, epoch) (1 + (rank) + 4 * (epoch))

chan wire[PROCESSES] = [EPOCHS * PROCESSES] of { byte, byte, byte }; /* to: from, epoch, value */
byte finished = 0;

/* Whether a receive posted in `epoch` may be given a message sent in `sent`. */
#ifdef FAULT
#define MATCHES(sent, epoch) true
#else
#define MATCHES(sent, epoch) ((sent) == (epoch))
#endif
#define COMES(peer, sent) arrived[peer] == 0 && MATCHES(sent, epoch) && wire[me] ?? [peer, sent, _] -> \
    wire[me] ?? peer, sent, value; arrived[peer] = value

proctype process(byte me) {
    byte epoch = 0, peer, value;
    byte arrived[PROCESSES];
    byte waiting;
    do
    :: epoch < EPOCHS ->
        arrived[me] = VALUE(me, epoch);
        peer = 0;
        do
        :: peer < PROCESSES ->
            if
            :: peer != me -> wire[peer] ! me, epoch, VALUE(me, epoch)
            :: else -> skip
            fi;
            peer++
        :: else -> break
        od;
        /* Receives are posted for each peer; which is done first is anybody's guess. */
        waiting = PROCESSES - 1;
        do
        :: waiting > 0 ->
            if
            :: COMES(0, 0)
            :: COMES(0, 1)
            :: COMES(1, 0)
            :: COMES(1, 1)
            :: COMES(2, 0)
            :: COMES(2, 1)
            fi;
            waiting--
        :: else -> break
        od;
        /* add_in_order: by rank, each rank's own value of this epoch. */
        assert(arrived[0] == VALUE(0, epoch));
        assert(arrived[1] == VALUE(1, epoch));
        assert(arrived[2] == VALUE(2, epoch));
        arrived[0] = 0; arrived[1] = 0; arrived[2] = 0;
        epoch++
    :: else -> break
    od;
    finished++
}

init {
    atomic { run process(0); run process(1); run process(2) }
}

ltl all_end { <> (finished == PROCESSES) }
