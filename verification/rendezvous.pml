/*
 *  Models rendezvous_t::meet, ::look and ::joined (src/mesh/rendezvous.cpp): two processes meet through one file each,
 *  in a directory that may hold the files of a dead run; process 1 may die before it has joined and be started again.
 *
 *  A file is a nonce and the nonce it lists of the other process; rename makes writing one step. Nonces: 1 and 2 are the
 *  dead run's, 3 is process 0's, 4 and 5 are process 1's two lives. Claims: a process that joins has joined a live one,
 *  both join the same run, and, where nobody dies, both join.
 *
 *  -DFAULT: a peer's file counts as soon as it is there, without its listing our nonce back. Spin must find that a file
 *  of the dead run is taken for a process.
 */
byte nonce[2];    /* what each file says of its writer; 0: no file */
byte listed[2];   /* the other process's nonce, as that file lists it */
byte joined[2];   /* the nonce of the peer that a process joined with */
byte self[2];     /* the nonce of each process's present life */
byte died = 0;

inline look(me, other, mine, seen) {
    byte there, back;
    atomic { there = nonce[other]; back = listed[other]; } /* one read of a file that is replaced whole */
    if
    :: there != 0 && there != seen ->
        seen = there;
        atomic { nonce[me] = mine; listed[me] = seen; }   /* publish: list it before judging it */
    :: else -> skip
    fi;
#ifdef FAULT
    if
    :: there != 0 && there == seen -> joined[me] = there
    :: else -> skip
    fi
#else
    if
    :: there != 0 && there == seen && back == mine -> joined[me] = there
    :: else -> skip
    fi
#endif
}

proctype process(byte me; byte mine; bit may_die) {
    byte seen = 0;
    byte other = 1 - me;
    atomic { self[me] = mine; nonce[me] = mine; listed[me] = 0; }
    do
    :: joined[me] == 0 -> look(me, other, mine, seen)
    :: joined[me] != 0 -> break
    :: may_die && died == 0 && joined[me] == 0 && joined[other] == 0 ->
        atomic { died = 1; run process(me, mine + 1, 0) }
        goto gone
    od;
    /* Nonces of a live run are above 2. */
    assert(joined[me] > 2);
gone:
    skip
}

init {
    atomic {
        /* What is left of a dead run: nothing, or a file of either process, listing the dead other's nonce. */
        if :: skip :: nonce[0] = 1; listed[0] = 2 fi;
        if :: skip :: nonce[1] = 2; listed[1] = 1 fi;
        run process(0, 3, 0);
        run process(1, 4, 1)
    }
}

/* Without a death, both join, and join each other. A death before either has joined leaves its next life to be met. */
ltl both_join { (<> (joined[0] != 0 && joined[1] != 0)) || (<> (died == 1)) }
ltl one_run { [] ((died == 0 && joined[0] != 0 && joined[1] != 0) -> (joined[0] == self[1] && joined[1] == self[0])) }
