import type { CountName } from '../network-files/options/units-option.ts';

/** Counts items in a parameter, which is validated or missing. @param head reads the number of the network's head, if known */
export type Counter = (value: unknown, head?: () => bigint | undefined) => number;

/** Counters of a parameter, by the type of the parameter in schemas/types. */
export const counters: Readonly<Record<string, Readonly<Partial<Record<CountName, Counter>>>>> = {
  LogFilter: { blocks: blocksOf, addresses: addressesOf },
  // `eth_subscribe` has only new blocks.
  SubscriptionFilter: { addresses: addressesOf },
  StoragePositions: { storageKeys: lengthOf },
  Words: { storageKeys: lengthOf },
  StorageRequest: { storageKeys: (value) => sumOf(Object.values(membersOf(value)), lengthOf) },
  StateOverride: { overrides: overridesOf },
  Simulation: {
    calls: (value) => sumOf(blocksIn(value), (block) => lengthOf(block['calls'])),
    overrides: (value) => sumOf(blocksIn(value), (block) => overridesOf(block['stateOverrides'])),
  },
};

/** The first and the last block of a log filter. A tag is the head, except `earliest`. */
export function rangeOf(filter: unknown, head: bigint | undefined): { from: bigint; to: bigint } | undefined {
  const { fromBlock, toBlock, blockHash } = membersOf(filter);
  if (typeof blockHash === 'string') return undefined;
  const [from, to] = [numberOf(fromBlock, head), numberOf(toBlock, head)];
  if (from === undefined || to === undefined) return undefined;
  // An upper end above the head means the head.
  return { from, to: head !== undefined && to > head ? head : to };
}

/** One block, if the range depends on a head that is unknown: for a moment after the start. */
function blocksOf(filter: unknown, head?: () => bigint | undefined): number {
  const range = rangeOf(filter, head?.());
  return range === undefined || range.to < range.from ? 1 : Number(range.to - range.from) + 1;
}

function numberOf(block: unknown, head: bigint | undefined): bigint | undefined {
  if (block === 'earliest') return 0n;
  // The filters of pass-through methods are not validated.
  return typeof block === 'string' && /^0x[0-9a-f]+$/i.test(block) ? BigInt(block) : head;
}

function addressesOf(filter: unknown): number {
  const { address } = membersOf(filter);
  return typeof address === 'string' ? 1 : lengthOf(address);
}

/** Number of overridden accounts, and of overridden slots of their storage. */
function overridesOf(overrides: unknown): number {
  return sumOf(Object.values(membersOf(overrides)), (account) => {
    const { state, stateDiff } = membersOf(account);
    return 1 + Object.keys(membersOf(state)).length + Object.keys(membersOf(stateDiff)).length;
  });
}

function blocksIn(simulation: unknown): readonly Record<string, unknown>[] {
  const { blockStateCalls } = membersOf(simulation);
  return Array.isArray(blockStateCalls) ? blockStateCalls.map(membersOf) : [];
}

function lengthOf(value: unknown): number {
  return Array.isArray(value) ? value.length : 0;
}

function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function sumOf<Item>(items: readonly Item[], amountOf: (item: Item) => number): number {
  let sum = 0;
  for (const item of items) sum += amountOf(item);
  return sum;
}
