/*
 *  Models transport_t::state_t::judge, ::blame and ::tell (src/mesh/transport.cpp): three processes in two exchanges
 *  in a row, of which process 2 may die at any point. In each, all wait for a message of both others. Whoever finds the dead one's connection
 *  lost tells all others before it disconnects itself; a loss is judged only after a grace in which such a notice is
 *  preferred, since the lost peer may be one that gave up before us.
 *
 *  A notice is written before the connection it travels on goes down. Claims: everyone living ends; where one fails, it blames process 2, the only one that died.
 *
 *  -DFAULT: a process that gives up disconnects without telling. Spin must find that one which merely gave up is blamed.
 */
#define ROUNDS 2
#define VICTIM 2
#define NOBODY 7

typedef row_t { byte to[3] };
row_t sent[3]; /* sent[i].to[j]: messages of i to j so far, one a round */
row_t told[3]; /* told[i].to[j]: whom i's notice to j blames; NOBODY before there is one */
bit gone[3];   /* its connections are down: it died, or gave up */

#define HERE(peer) (sent[peer].to[me] > round)
#define HEARD(peer) (told[peer].to[me] != NOBODY)
/* A peer that is waited for, without a connection, and nothing said on it before it went. */
#define LOST(peer) (gone[peer] && !HERE(peer) && !HEARD(peer))

proctype survivor(byte me) {
    byte round = 0, culprit = NOBODY;
    byte a = (me + 1) % 3, b = (me + 2) % 3;
    do
    :: round < ROUNDS ->
        sent[me].to[a]++;
        sent[me].to[b]++;
        if
        :: HERE(a) && HERE(b) -> round++
        :: HEARD(a) -> culprit = told[a].to[me]
        :: HEARD(b) -> culprit = told[b].to[me]
        :: LOST(a) -> culprit = a
        :: LOST(b) -> culprit = b
        fi;
        if
        :: culprit != NOBODY -> break
        :: else -> skip
        fi
    :: else -> break
    od;
    assert(culprit == NOBODY || culprit == VICTIM);
    /* blame: tell all, then disconnect; a process that is through leaves only once the others are. */
    if
    :: culprit != NOBODY ->
#ifndef FAULT
        told[me].to[a] = culprit;
        told[me].to[b] = culprit;
#endif
        gone[me] = 1
    :: else -> skip
    fi
}

/* Dies between any two of its messages, or after the last. */
proctype victim(byte me) {
    byte round = 0;
    do
    :: round < ROUNDS -> sent[me].to[0]++; if :: sent[me].to[1]++; round++ :: break fi
    :: break
    od;
    gone[me] = 1
}

init {
    byte i = 0, j;
    atomic {
        do
        :: i < 3 ->
            j = 0;
            do
            :: j < 3 -> told[i].to[j] = NOBODY; j++
            :: else -> break
            od;
            i++
        :: else -> break
        od;
        run survivor(0); run survivor(1); run victim(VICTIM)
    }
}
