/** The state of one upstream that decides whether a call is sent to it. Plain values: the policy reads no clock. */
export interface CandidateState {
  /** An operator has taken it out of service. */
  readonly isDrained: boolean;
  /** The network file excludes it for the method: by its `methods` or by `route`. */
  readonly isExcluded: boolean;
  /** The upstream accepted the transaction that the call is about. */
  readonly isPreferred: boolean;
  /** The upstream's limits permit another request, and it requested no pause with `Retry-After`. */
  readonly hasCapacity: boolean;
  /** The method of the call is marked. */
  readonly isMethodMarked: boolean;
  readonly isArchive: boolean;
  /** The upstream recently returned that it does not have the blocks of the call, or blocks at least as old. */
  readonly lacksBlocks: boolean;
  /** The number of its newest known block. Undefined: not known; it then counts as having every block. */
  readonly head: number | undefined;
  /** Number from which on the upstream has other blocks than the network. */
  readonly leftAt: number | undefined;
  /** Whether most groups have others there. */
  readonly hasLost: boolean;
  /** Highest head of other groups, if this upstream's is more than one block above it: its blocks above are not confirmed. */
  readonly aheadOf: number | undefined;
  /** The upstream failed since its last poll, and may have lost blocks. */
  readonly isHeadUncertain: boolean;
  /** Blocks behind the network's head at its last poll. */
  readonly lag: number;
  /** The upstream recently returned an older `safe` or `finalized` block than one that was served. */
  readonly isTagOlder: boolean;
  /** `trial-due`: not closed, but the cooldown is over, and a call may be a trial now. */
  readonly circuit: 'closed' | 'trial-due' | 'open';
  /** The upstream returned another chain id when last checked. */
  readonly isOnOtherChain: boolean;
}

/** Needs of a call from its upstream. */
export interface CallNeeds {
  /** The blocks that the call names. `tag`: the upper end, if it is a tag. */
  readonly blocks:
    | {
        readonly lowest: number;
        readonly highest: number;
        readonly readsState: boolean;
        readonly tag?: string | undefined;
      }
    | undefined;
  /** A list of logs: it does not show that blocks are missing. */
  readonly listsLogs: boolean;
  /** The result is the number of the head. */
  readonly isHeadNumber: boolean;
  /** A pass-through method. Its parameters may name any block, so an upstream at the head is used first. */
  readonly isPassThrough: boolean;
  /** The call sends a transaction. */
  readonly sends: boolean;
  /** `closed-retry`: a retry without budget, at a closed circuit only. */
  readonly purpose: 'attempt' | 'closed-retry' | 'hedge';
}

/** The state of the network, for all candidates of a call. */
export interface NetworkState {
  /** The number of the network's head; 0: not known. */
  readonly head: number;
  /** The number of the newest block that callers and subscribers were served; 0: none. */
  readonly newestServed: number;
  /** An upstream that is more blocks behind is skipped. */
  readonly maxLag: number;
  /** Whether an upstream is an archive. */
  readonly hasArchives: boolean;
  /** The network has one upstream. */
  readonly isAlone?: true;
}

/** Blocks whose state every node has: geth's default without archive mode. */
const RECENT_BLOCKS = 128;

/** Whether nodes without archive mode have pruned the state after the block. */
export function isOld(block: number, head: number): boolean {
  return block <= head - RECENT_BLOCKS;
}

/** Whether an upstream's known head is below the network's head. */
export function isBelowHead({ head }: CandidateState, network: NetworkState): boolean {
  return head !== undefined && head < network.head;
}

/** Whether an upstream's known head is below the newest served block. @param head of the upstream; undefined: not known */
export function isBelowServed(head: number | undefined, newestServed: number): boolean {
  return head !== undefined && head < newestServed;
}
