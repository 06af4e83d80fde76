import { columns, listText, shortTime, type ListOptions } from './columns.ts';
import type { KeyRecord } from '../auth/stores/key-store.ts';
import type { PlanSource } from '../auth/permissions/plans.ts';
import { hasExpired, problemsIn } from '../auth/manage/key-state.ts';
import type { CreatedKey } from '../auth/manage/manage-keys.ts';
import { displayedPermissions, displayedRecord } from '../auth/manage/displayed-record.ts';
import type { UsageRow } from '../usage/usage-store.ts';

/** Text of a list of keys. @param none in place of an empty table */
export function keyListText(
  records: readonly KeyRecord[],
  plans: PlanSource,
  format: ListOptions = {},
  none?: string,
): string {
  const rows = records.map((record) => [
    ...[record.id, record.name, record.permissions?.['team'], record.permissions?.['plan']],
    ...[shortTime(record.createdAt), stateOf(record, plans)],
  ]);
  const data = records.map((record) => displayedRecord(record, plans));
  return listText(format, data, ['id', 'name', 'team', 'plan', 'created', 'state'], rows, none);
}

/** Permissions and limits of a key, and the problems of its record. */
export function permissionsText(record: KeyRecord, plans: PlanSource): string {
  const problems = problemsIn(record, plans).map((problem) => `rejected until corrected: ${problem}\n`);
  return columns(Object.entries(displayedPermissions(record))) + problems.join('');
}

/** Usage of a key, one line per day, network and method. */
export function usageText(rows: readonly UsageRow[], format: ListOptions): string {
  const lines = rows.map(({ day, network, method, calls, units, errors, bytes, reasons = {} }) => [
    ...[day, network, method],
    ...[calls, units, errors, bytes].map(String),
    Object.entries(reasons)
      .sort(([, one], [, other]) => other - one)
      .map(([reason, count]) => `${reason} ${count}`)
      .join(', '),
  ]);
  const head = ['day', 'network', 'method', 'calls', 'units', 'errors', 'bytes', 'reasons'];
  return listText(format, rows, head, lines, 'No usage yet.\n');
}

function stateOf(record: KeyRecord, plans: PlanSource): string {
  if (record.revokedAt !== undefined) return `revoked ${shortTime(record.revokedAt)}`;
  const [problem] = problemsIn(record, plans);
  if (problem?.startsWith('plan: ') === true) return 'its plan is not found in NETWORKS_DIR';
  if (problem !== undefined) return 'rejected: its record is invalid';
  const end = record.permissions?.['expiresAt'];
  if (hasExpired(record)) return `expired ${shortTime(end ?? '')}`;
  const state = record.development === true ? 'development' : 'active';
  return end === undefined ? state : `${state} until ${shortTime(end)}`;
}

/** The new key and secret, which are shown only once. */
export function secretTexts({ key, secret }: CreatedKey): string {
  const texts = [...(key === undefined ? [] : [key]), ...(secret === undefined ? [] : [`secret: ${secret}`])];
  return texts.length === 0 ? '.' : `, shown only once:\n\n${texts.join('\n')}`;
}
