import { keyIdOf } from '../keys/key.ts';
import type { KeyRecord } from '../keys/key-store.ts';
import { hasEnded, mistakesIn } from '../keys/manage-keys.ts';

/** A record for programs. Of a secret's digest only the start is shown, as of a key's. */
export function shownRecord(record: KeyRecord): object {
  const mistakes = mistakesIn(record);
  return {
    ...record,
    ...(record.rules !== undefined && { rules: shownRules(record) }),
    ...(mistakes.length > 0 && { mistakes }),
  };
}

export function tableOf(records: readonly KeyRecord[]): string {
  const rows = records.map((record) => [record.id, record.name, shortTime(record.createdAt), stateOf(record)]);
  return columns([['ID', 'NAME', 'CREATED', 'STATE'], ...rows]);
}

/** The rules of a key, and what is wrong with them. */
export function rulesOf(record: KeyRecord): string {
  const mistakes = mistakesIn(record).map((mistake) => `refused until mended: ${mistake}\n`);
  return columns(Object.entries(shownRules(record))) + mistakes.join('');
}

function shownRules({ rules = {} }: KeyRecord): Record<string, string> {
  const { secrets, ...others } = rules;
  if (secrets === undefined) return others;
  // Whatever stands there: by hand somebody may have written the secret itself.
  const shown = secrets.replace(/[^,@]*(@[^,]*)?/g, (entry) => {
    const [digest = '', until] = entry.split(/@(.*)/s);
    const id = /^\s*[0-9a-f]{64}\s*$/.test(digest) ? keyIdOf(digest.trim()) : digest === '' ? '' : '?';
    return until === undefined ? id : `${id}@${until}`;
  });
  return { ...others, secrets: shown };
}

function columns(lines: readonly (readonly string[])[]): string {
  const width = (column: number): number => Math.max(...lines.map((cells) => cells[column]?.length ?? 0));
  const padded = lines.map((cells) => cells.map((cell, at) => cell.padEnd(width(at))).join('  '));
  return padded.map((line) => `${line.trimEnd()}\n`).join('');
}

function stateOf(record: KeyRecord): string {
  if (record.revokedAt !== undefined) return `revoked ${shortTime(record.revokedAt)}`;
  if (mistakesIn(record).length > 0) return 'refused: its record has mistakes';
  const end = record.rules?.['expiresAt'];
  if (hasEnded(record)) return `expired ${shortTime(end ?? '')}`;
  const state = record.development === true ? 'development' : 'live';
  return end === undefined ? state : `${state} until ${shortTime(end)}`;
}

/** To the minute, in UTC. */
function shortTime(iso: string): string {
  const at = Date.parse(iso);
  return Number.isNaN(at) ? '-' : `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')}Z`;
}
