import { Command } from 'commander';
import {
  defaultParts,
  readReportDay,
  readReportParts,
  reportParts,
  reportUsage,
  withNames,
  type ReportRow,
} from '../usage/usage-report.ts';
import { amountNames, USAGE_RETENTION_DAYS } from '../usage/usage-store.ts';
import { listText, type ListOptions } from './columns.ts';
import { examples, withStores, type CommandContext } from './command-context.ts';
import { CommandError } from './exit-codes.ts';
import { readDays } from './key-options.ts';

interface UsageOptions extends ListOptions {
  readonly day?: string;
  readonly days?: string;
  readonly by: string;
  readonly limit: string;
}

/** Makes the command `gatehouse usage`: days of all keys. */
export function usageCommand(context: Pick<CommandContext, 'settings' | 'out'>): Command {
  const { out } = context;
  return new Command('usage')
    .description('Show the usage of all keys on one day, or on several')
    .option(
      '--day <day>',
      `today, yesterday or a date of the last ${USAGE_RETENTION_DAYS} days, in UTC; default: yesterday`,
    )
    .option('--days <number>', `in place of --day: number of days until today, at most ${USAGE_RETENTION_DAYS}`)
    .option('--by <parts>', 'one row for each day, key, network, method, or of several of these', defaultParts.join())
    .option('--limit <number>', 'maximum rows, those with most units', 'Infinity')
    .option('--csv', 'print comma-separated values')
    .option('--json', 'print an array of rows on one line')
    .addHelpText(
      'after',
      examples('usage --day yesterday --by key,network,method --csv', 'usage --days 30 --by day,key --csv'),
    )
    .action(async ({ day: dayText, days: daysText, by, limit, ...format }: UsageOptions) => {
      if (dayText !== undefined && daysText !== undefined) throw new CommandError('Give one of --day and --days');
      const day = readReportDay(dayText ?? 'yesterday');
      const parts = readReportParts(by);
      if (day === undefined)
        throw new CommandError(`--day: expected today, yesterday or a date of the last ${USAGE_RETENTION_DAYS} days`);
      if (parts === undefined)
        throw new CommandError(`--by: expected ${reportParts.join(', ')}, or several with commas`);
      if (!(Number(limit) >= 1)) throw new CommandError('--limit: expected a number above 0');
      const days = daysText === undefined ? [day] : readDays(daysText);
      await withStores(context, async ({ keys, usage }) => {
        const { rows: found } = await reportUsage(usage, days, parts, Number(limit));
        const hasKeys = parts.includes('key');
        const rows = hasKeys ? withNames(found, (await keys.entries()).values()) : found;
        const names = [...parts, ...(hasKeys ? (['name'] as const) : []), ...amountNames];
        const cells = rows.map((row) =>
          names.map((name: Exclude<keyof ReportRow, 'reasons'>) => String(row[name] ?? '')),
        );
        out(listText(format, rows, names, cells, `No usage on ${days.join(', ')}.\n`));
      });
    });
}
