import { timeSlicer } from '../jsonrpc/time-slices.ts';
import { Call, type Duplicates } from './call.ts';

/** Finds the identical calls of a batch, which are sent once. Undefined: it has none. */
export async function findDuplicates(items: readonly unknown[]): Promise<Duplicates | undefined> {
  if (items.length < 2) return undefined;
  /** Texts, which exist already. The same parameters of another method only cost an entry. */
  const seen = new Set<string>();
  const duplicates: Duplicates = new Map();
  for (const item of items) {
    const pause = timeSlicer.next();
    if (pause !== undefined) await pause;
    if (!(item instanceof Call) || item.served?.isCoalescable !== true) continue;
    if (seen.has(item.text)) duplicates.set(item.name + item.text, undefined);
    else seen.add(item.text);
  }
  return duplicates.size === 0 ? undefined : duplicates;
}
