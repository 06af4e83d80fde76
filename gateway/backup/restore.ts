import type { KeyStore } from '../auth/stores/key-store.ts';
import { lastDays, USAGE_RETENTION_DAYS, type UsageBatch, type UsageStore } from '../usage/usage-store.ts';
import { readLine, type BackupLine } from './backup-line.ts';

/** Keys, and days of usage, that are written at once: a key file is written once for all of them. */
const MAX_CONCURRENT = 200;

type KeyLine = Extract<BackupLine, { kind: 'key' }>;

/** `there`: keys, or days of a key with usage, that the store already had. `expired`: days before those that are kept. */
export interface RestoreCounts {
  readonly keys: { readonly added: number; readonly there: number };
  readonly days: { readonly added: number; readonly there: number; readonly expired: number };
}

/** A backup that cannot be restored. The message has the line. */
export class BackupError extends Error {}

/**
 * Reads a backup to its end, so that nothing is restored from one with a mistake.
 * @throws BackupError
 */
export async function checkBackup(lines: AsyncIterable<string>): Promise<void> {
  const found = { keys: 0, days: 0 };
  let last: BackupLine | undefined;
  let number = 0;
  for await (const text of lines) {
    number++;
    const line = readLine(text);
    if (typeof line === 'string') throw new BackupError(`line ${number}: ${line}`);
    if ((line.kind === 'start') !== (number === 1))
      throw new BackupError(`line ${number}: the format belongs to line 1`);
    if (last?.kind === 'end') throw new BackupError(`line ${number}: nothing may follow the end`);
    if (line.kind === 'key') found.keys++;
    if (line.kind === 'usage') found.days++;
    last = line;
  }
  if (last?.kind !== 'end')
    throw new BackupError(`line ${number + 1}: the end is missing, so the backup is incomplete`);
  if (last.keys !== found.keys || last.days !== found.days) {
    const expected = `expected ${last.keys} keys and ${last.days} days of usage before the end`;
    throw new BackupError(`line ${number}: ${expected}, found ${found.keys} and ${found.days}`);
  }
}

/**
 * Adds what the stores do not have. Existing keys stay as they are, except that revocations are added; so does the usage of a
 * key on a day that has some. Repeating it is safe.
 * @param lines checked by `checkBackup`
 * @param onAdded called for each key that was added
 * @throws KeyStoreUnreachable
 */
export async function restore(
  lines: AsyncIterable<string>,
  keys: KeyStore,
  usage: UsageStore,
  onAdded: (digest: string) => Promise<void>,
): Promise<RestoreCounts> {
  const counts = { keys: { added: 0, there: 0 }, days: { added: 0, there: 0, expired: 0 } };
  const [oldest = ''] = lastDays(USAGE_RETENTION_DAYS);
  let batches: UsageBatch[] = [];
  const writeUsage = async (): Promise<void> => {
    const rest = await usage.add(batches);
    if (rest.length > 0) throw new BackupError(`${rest.length} days of usage could not be written: restore again`);
    batches = [];
  };
  let keyLines: KeyLine[] = [];
  const writeKeys = async (): Promise<void> => {
    const lines = keyLines;
    keyLines = [];
    const added = await Promise.all(lines.map(({ digest, key }) => keys.add(digest, key)));
    for (const [index, { digest }] of lines.entries()) {
      counts.keys[added[index] === true ? 'added' : 'there']++;
      if (added[index] === true) await onAdded(digest);
    }
  };
  for await (const text of lines) {
    const line = readLine(text) as BackupLine;
    if (line.kind === 'key') {
      if (keyLines.push(line) >= MAX_CONCURRENT) await writeKeys();
    } else if (line.kind === 'usage') {
      const { key, day, amounts } = line;
      if (day < oldest) counts.days.expired++;
      else if ((await usage.read(key, [day])).length > 0) counts.days.there++;
      else batches.push({ key, day, amounts, number: ++counts.days.added });
      if (batches.length >= MAX_CONCURRENT) await writeUsage();
    }
  }
  await writeKeys();
  await writeUsage();
  return counts;
}
