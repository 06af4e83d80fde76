import { describe, expect, it } from 'vitest';
import { errorRules, statusRules } from '../../gateway/normalise/errors/error-rules.ts';
import { executionErrorRules } from '../../gateway/normalise/errors/execution-error-rules.ts';
import { lookupRules } from '../../gateway/normalise/errors/lookup-rules.ts';
import { wrappers } from '../../gateway/normalise/errors/nested-errors.ts';
import { retryHintFields } from '../../gateway/normalise/errors/retry-hint.ts';
import { bareReason, revertRules } from '../../gateway/normalise/errors/revert-rules.ts';
import { stateRules } from '../../gateway/normalise/errors/state-rules.ts';
import { transactionRules } from '../../gateway/normalise/errors/transaction-rules.ts';
import { classifyEntry, recorded } from './recorded-responses.ts';

/** A row of any table, whose pattern the test replaces. */
interface RuleRow {
  text?: RegExp;
  pattern?: RegExp;
  readonly codes?: readonly number[];
}

/** The rows of each file of gateway/normalise/errors/. Rows of HTTP statuses are facts of HTTP, not of node software. */
const tables: Readonly<Record<string, readonly RuleRow[]>> = {
  'revert-rules.ts': [...revertRules, bareReason],
  'execution-error-rules.ts': executionErrorRules,
  'transaction-rules.ts': transactionRules,
  'lookup-rules.ts': lookupRules,
  'state-rules.ts': stateRules,
  'error-rules.ts': errorRules.filter((rule) => ![...lookupRules, ...stateRules, ...statusRules].includes(rule)),
  'nested-errors.ts': wrappers,
};

/** The rows that matched a recorded response. A row's text is its last condition, so its match decides. */
const matched = new Set<RuleRow>();

class ObservedPattern extends RegExp {
  readonly row: RuleRow;

  constructor(pattern: RegExp, row: RuleRow) {
    super(pattern);
    this.row = row;
  }

  override exec(text: string): RegExpExecArray | null {
    const match = super.exec(text);
    if (match !== null) matched.add(this.row);
    return match;
  }
}

const described = Object.entries(tables).flatMap(([file, rows]) =>
  rows.map((row) => ({ file, row, description: describeRow(row) })),
);
for (const { row } of described) {
  const name = row.pattern === undefined ? 'text' : 'pattern';
  row[name] = new ObservedPattern(row[name] ?? /^/, row);
}
for (const entry of recorded) classifyEntry(entry);

describe('each row of gateway/normalise/errors/ matches a recorded response:', () => {
  it.each(described)('$file $description', ({ file, row, description }) => {
    const step = `no response of test/recorded/ matches the row ${description} of gateway/normalise/errors/${file}: add the recorded response, with client, version and source`;
    expect(matched.has(row), step).toBe(true);
  });

  it.each(retryHintFields)('retry-hint.ts $path', ({ path }) => {
    const step = `no response of test/recorded/ has error.data.${path.join('.')}, of gateway/normalise/errors/retry-hint.ts: add the recorded response, with retryAfterMs`;
    const hints = recorded.filter(({ retryAfterMs }) => retryAfterMs !== undefined);
    const values = hints.map(({ upstreamResponse }) => valueAt(upstreamResponse?.error?.data, path));
    expect(
      values.filter((value) => value !== undefined),
      step,
    ).not.toEqual([]);
  });
});

function describeRow({ text, pattern, codes }: RuleRow): string {
  return String(pattern ?? text ?? codes?.join()).slice(0, 80);
}

function valueAt(data: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], data);
}
