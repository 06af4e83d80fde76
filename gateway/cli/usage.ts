import { Command } from 'commander';
import { openImportedStore } from '../backup/former-files.ts';
import { openLog } from '../config/log.ts';
import type { Settings } from '../config/settings.ts';
import { readReportDay, readReportParts, reportParts, reportUsage, type ReportRow } from '../usage/usage-report.ts';
import { amountNames, USAGE_RETENTION_DAYS, UsageStore } from '../usage/usage-store.ts';
import { columns } from './columns.ts';
import { examples } from './examples.ts';
import { UsageError } from './key-options.ts';
import { OPEN_TIMEOUT_MS } from './keys.ts';

interface UsageOptions {
  readonly day: string;
  readonly by: string;
  readonly limit: string;
  readonly csv?: true;
  readonly json?: true;
}

/** Makes the command `gatehouse usage`: one day of all keys. */
export function usageCommand(
  settings: () => Pick<Settings, 'REDIS_URL' | 'DATA_DIR'>,
  out: (text: string) => void,
): Command {
  return new Command('usage')
    .description('Show the usage of all keys on one day')
    .option('--day <day>', `today, yesterday or a date of the last ${USAGE_RETENTION_DAYS} days, in UTC`, 'yesterday')
    .option('--by <parts>', 'one row for each key, network, method, or of several of these', 'key,network,method')
    .option('--limit <number>', 'maximum rows, those with most units', 'Infinity')
    .option('--csv', 'print comma-separated values')
    .option('--json', 'print an array of rows on one line')
    .addHelpText('after', examples('usage --day yesterday --by key,network,method --csv', 'usage --day today --by key'))
    .action(async ({ day: dayText, by, limit, csv, json }: UsageOptions) => {
      const day = readReportDay(dayText);
      const parts = readReportParts(by);
      if (day === undefined)
        throw new UsageError(`--day: expected today, yesterday or a date of the last ${USAGE_RETENTION_DAYS} days`);
      if (parts === undefined) throw new UsageError(`--by: expected ${reportParts.join(', ')}, or several with commas`);
      if (!(Number(limit) >= 1)) throw new UsageError('--limit: expected a number above 0');
      const log = openLog('silent');
      const store = await openImportedStore(settings(), log, OPEN_TIMEOUT_MS, true);
      try {
        const rows = await reportUsage(new UsageStore(store, log), [day], parts, Number(limit));
        const names = [...parts, ...amountNames];
        if (json) out(`${JSON.stringify(rows)}\n`);
        else if (csv) out(linesOf(rows, names));
        else if (rows.length === 0) out(`No usage on ${day}.\n`);
        else out(columns([names.map((name) => name.toUpperCase()), ...cellsOf(rows, names)]));
      } finally {
        await store.close();
      }
    });
}

function cellsOf(rows: readonly ReportRow[], names: readonly (keyof ReportRow)[]): string[][] {
  return rows.map((row) => names.map((name) => String(row[name] ?? '')));
}

/** RFC 4180, with line feeds. */
function linesOf(rows: readonly ReportRow[], names: readonly (keyof ReportRow)[]): string {
  const quoted = (cell: string): string => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
  return [[...names], ...cellsOf(rows, names)].map((cells) => `${cells.map(quoted).join(',')}\n`).join('');
}
