import { entriesOf } from '../../auth/permissions/field-formats.ts';
import type { KeyRecord } from '../../auth/stores/key-store.ts';
import { timeSlicer } from '../../jsonrpc/time-slices.ts';
import { methodNames } from '../../spec/method-facts.ts';

/** A page shows no more of a list that grows with the keys. */
const MAX_CHOICES = 200;

/** What permissions of a key can be chosen from. */
export interface Choices {
  /** Names, and the namespaces before them. */
  readonly methods: readonly string[];
  /** Origins of all keys, most used first. */
  readonly origins: readonly string[];
  readonly teams: readonly string[];
}

/** Reads all keys, in time slices. */
export async function readChoices(records: Iterable<KeyRecord>): Promise<Choices> {
  const [origins, teams] = [new Map<string, number>(), new Map<string, number>()];
  const count = (counts: Map<string, number>, value: string): void => {
    if (value !== '') counts.set(value, (counts.get(value) ?? 0) + 1);
  };
  for (const { permissions = {} } of records) {
    await timeSlicer.next();
    for (const origin of entriesOf(permissions['origins'] ?? '')) count(origins, origin);
    count(teams, permissions['team'] ?? '');
  }
  const namespaces = new Set(methodNames.map((name) => name.split('_')[0] ?? name));
  return { methods: [...namespaces, ...methodNames], origins: mostUsed(origins), teams: mostUsed(teams) };
}

function mostUsed(counts: ReadonlyMap<string, number>): string[] {
  const sorted = [...counts].sort(([one, a], [other, b]) => b - a || (one < other ? -1 : 1));
  return sorted.slice(0, MAX_CHOICES).map(([value]) => value);
}
