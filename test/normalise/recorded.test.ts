import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { strictAjv } from '../../gateway/spec/strict-ajv.ts';
import { parseResponse } from '../../gateway/upstreams/transport/upstream-response.ts';
import {
  classifyEntry,
  expectedResponse,
  recorded,
  titleOf,
  type Recorded,
  type Response,
} from './recorded-responses.ts';

/** Results that deviate from the specification, because the chain has no such field: it is null. */
const deviations: Readonly<Record<string, readonly string[]>> = {
  'a transaction from the layer below, without a signature': ['/r', '/s', '/v'],
  'a transaction whose fee is paid in another currency': ['/gasPrice'],
  'a receipt of 2018, without type, price and logsBloom': ['/effectiveGasPrice', '/logsBloom', '/type'],
  'a pending block, whose mixHash is null': ['/mixHash'],
};
const resultSchemas = JSON.parse(readFileSync(join(packageRoot, 'schemas/generated/results.json'), 'utf8')) as Record<
  string,
  object
>;
const ajv = strictAjv();
ajv.opts.allErrors = true;

const files = [...new Set(recorded.map(({ file }) => file))];

describe.each(files)('responses of %s', (file) => {
  const entries = recorded.filter((entry) => entry.file === file);

  it.each(entries.map((entry) => [titleOf(entry), entry] as const))('%s', (_, entry) => {
    const { failure, retryAfterMs } = entry;
    const expected = failure === undefined ? expectedResponse(entry) : { failure, retryAfterMs };
    expect(describeOutcome(entry), stepOf(entry)).toEqual(expected);
  });

  it('all have their origin', () => {
    for (const entry of entries) {
      const { client, version, evidence, source } = entry;
      expect(client, titleOf(entry)).toMatch(/\S/);
      expect(version, titleOf(entry)).toMatch(/\S/);
      expect(['recorded', 'printed', 'made from source'], titleOf(entry)).toContain(evidence);
      if (evidence !== 'recorded') expect(source, titleOf(entry)).toMatch(/\S/);
    }
  });
});

it('recorded responses become results that match the specification', () => {
  for (const entry of recorded) {
    const outcome = classifyEntry(entry);
    if (!outcome.final || outcome.response.kind !== 'result') continue;
    const validate = ajv.compile(resultSchemas[entry.method] ?? false);
    validate(outcome.response.result);
    const deviating = new Set(
      validate.errors?.filter(({ keyword }) => keyword !== 'if').map((error) => error.instancePath),
    );
    expect([...deviating].sort(), titleOf(entry)).toEqual(deviations[entry.name ?? ''] ?? []);
  }
});

/** The response to the caller, or the failure class. */
function describeOutcome(entry: Recorded): Response | object {
  const outcome = classifyEntry(entry);
  if (!outcome.final) {
    const retryAfterMs = 'retryAfterMs' in outcome ? outcome.retryAfterMs : undefined;
    return { failure: outcome.failure, retryAfterMs: entry.retryAfterMs === undefined ? undefined : retryAfterMs };
  }
  const response = parseResponse(outcome.response);
  if (response.kind === 'result') return { result: response.result };
  const { code, message, data } = response;
  return { error: { code, message, ...(data === undefined ? {} : { data }) } };
}

/** What is missing if the response matches no row. */
function stepOf(entry: Recorded): string {
  const outcome = classifyEntry(entry);
  const isUnknown = !outcome.final && outcome.failure === 'unknown' && entry.failure !== 'unknown';
  if (!isUnknown) return titleOf(entry);
  return `test/recorded/${entry.file} has this response, and no row matches it: add a row to a file of gateway/normalise/errors/`;
}
