import type { networks } from './checked-network.ts';
import type { ViolationKind } from './violations.ts';

/** A change of one line of the compiled gateway. */
export interface Edit {
  /** Path below `gateway/`, without the ending. */
  readonly file: string;
  /** Occurs once in the file, in TypeScript and compiled. */
  readonly find: string;
  readonly replace: string;
}

/** A mend that is taken out of the gateway, and what the checker must find then. */
export interface Mutation {
  readonly name: string;
  /** The mend, as a row of docs/measured/soak.md. */
  readonly takenOut: string;
  readonly edits: readonly Edit[];
  /** The network in which the defect shows. */
  readonly network: (typeof networks)[number]['name'];
  /** Kinds of which at least one is found. */
  readonly kinds: readonly ViolationKind[];
}

export const mutations: readonly Mutation[] = [
  {
    name: 'tag-at-lagging',
    takenOut: 'Calls for a tag go to an upstream at the head',
    edits: [
      {
        file: 'routing-policy/skip-reasons',
        find: '((blocks?.tag !== undefined || isPassThrough) && isBelowHead(candidate, network))',
        replace: 'false',
      },
    ],
    network: 'polled',
    kinds: ['lag'],
  },
  {
    name: 'shorter-is-reorg',
    takenOut: 'A shorter part of the same chain is not a reorg',
    edits: [{ file: 'chain/chain', find: 'return header.hash !== knownHash', replace: 'return true' }],
    network: 'nodes',
    kinds: ['removed', 'head-twice', 'log-twice'],
  },
  {
    name: 'null-of-served',
    takenOut: 'A served object is never null',
    edits: [
      {
        file: 'call/confirm',
        find: '!isAccepted',
        replace: 'false',
      },
    ],
    network: 'polled',
    kinds: ['null'],
  },
  {
    name: 'stale-cache',
    takenOut: 'A read at `latest` is cached only from an upstream that had the head, until a newer block is served',
    edits: [
      { file: 'cache/method-cache', find: '|| head.hash !== headHash ||', replace: '||' },
      { file: 'cache/method-cache', find: 'validity.epoch === view.epoch &&', replace: '' },
    ],
    network: 'nodes',
    kinds: ['older-read'],
  },
  {
    name: 'older-block',
    takenOut: 'A block older than one that was served is requested again',
    edits: [{ file: 'call/confirm', find: 'isOlderThanServed(view, call, response)', replace: 'false' }],
    network: 'pool',
    kinds: ['older-read'],
  },
  {
    name: 'restarted-chain',
    takenOut: 'The recorded final block is compared before entries are used',
    edits: [{ file: 'cache/final-chain', find: 'unbrokenSince === this.#checkedSince', replace: 'true' }],
    network: 'restarts',
    kinds: ['wrong', 'replaced', 'logs-gap'],
  },
  {
    name: 'logs-with-gaps',
    takenOut: 'Logs never come from an upstream that lacks blocks of the range',
    edits: [
      {
        file: 'routing-policy/skip-reasons',
        find: 'return head !== undefined && head < Math.min(',
        replace: 'return false && head < Math.min(',
      },
      {
        file: 'routing-policy/skip-reasons',
        find: 'isBelowServed(head, network.newestServed)',
        replace: 'false',
      },
    ],
    network: 'polled',
    kinds: ['logs-gap'],
  },
  {
    name: 'unconfirmed-pass-through',
    takenOut: 'Null or `0x` of a pass-through method is confirmed',
    edits: [
      {
        file: 'call/confirm',
        find: 'return isRead(method) && isNone && !wasAtHead(call, upstream, sentAt)',
        replace: 'return false',
      },
    ],
    network: 'polled',
    kinds: ['null'],
  },
];
