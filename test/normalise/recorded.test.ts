import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { normalise } from '../../gateway/normalise/normalise.ts';
import { strictAjv } from '../../gateway/spec/strict-ajv.ts';
import { readResponse } from '../../gateway/upstreams/transport/read-response.ts';
import { parseResponse } from '../../gateway/upstreams/transport/upstream-response.ts';
import type { Outcome } from '../../gateway/upstreams/outcome.ts';
import { specOf } from './normalised.ts';

/** One entry of test/recorded; anvil.yaml describes the fields. */
interface Recorded {
  readonly name: string;
  readonly client: string;
  readonly version: string;
  readonly evidence: 'recorded' | 'printed' | 'made from source';
  readonly source?: string;
  readonly method: string;
  readonly params?: readonly unknown[];
  readonly upstreamResponse: { readonly result?: unknown; readonly error?: unknown };
  readonly response?: { readonly result?: unknown; readonly error?: unknown };
  readonly changed?: object;
  readonly dropped?: readonly string[];
  readonly failure?: string;
}

const folder = join(packageRoot, 'test/recorded');

/** Results that deviate from the specification, because the chain has no such field: it is null. */
const deviations: Readonly<Record<string, readonly string[]>> = {
  'a transaction from the layer below, without a signature': ['/r', '/s', '/v'],
  'a transaction whose fee is paid in another currency': ['/gasPrice'],
};
const resultSchemas = JSON.parse(readFileSync(join(packageRoot, 'schemas/generated/results.json'), 'utf8')) as Record<
  string,
  object
>;
const ajv = strictAjv();
ajv.opts.allErrors = true;

describe.each(readdirSync(folder).sort())('responses of %s', (file) => {
  const entries = parse(readFileSync(join(folder, file), 'utf8')) as Recorded[];

  it.each(entries.map((entry) => [titleOf(entry), entry] as const))('%s', (_, entry) => {
    expect(describeOutcome(classifyEntry(entry))).toEqual(expectedOf(entry));
  });

  it('become results that match the specification', () => {
    for (const entry of entries) {
      const outcome = classifyEntry(entry);
      if (!outcome.final || outcome.response.kind !== 'result') continue;
      const validate = ajv.compile(resultSchemas[entry.method] ?? false);
      validate(outcome.response.result);
      const deviating = new Set(
        validate.errors?.filter(({ keyword }) => keyword !== 'if').map((error) => error.instancePath),
      );
      expect([...deviating].sort(), entry.name).toEqual(deviations[entry.name] ?? []);
    }
  });

  it('all have their origin', () => {
    for (const { name, client, version, evidence, source } of entries) {
      expect(
        [client, version].every((text) => text.length > 0),
        name,
      ).toBe(true);
      expect(['recorded', 'printed', 'made from source'], name).toContain(evidence);
      if (evidence !== 'recorded') expect(source, name).toMatch(/\S/);
    }
  });
});

function titleOf({ name, client, version }: Recorded): string {
  return `${name} (${client} ${version})`;
}

function classifyEntry({ method, params, upstreamResponse }: Recorded): Outcome {
  const bytes = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, ...upstreamResponse }));
  return normalise(specOf(method), params ?? [], parseResponse(readResponse(200, bytes, 1)));
}

/** The response to the caller, or the failure class. */
function describeOutcome(outcome: Outcome): unknown {
  if (!outcome.final) return { failure: outcome.failure };
  const response = parseResponse(outcome.response);
  if (response.kind === 'result') return { result: response.result };
  const { code, message, data } = response;
  return { error: { code, message, ...(data === undefined ? {} : { data }) } };
}

function expectedOf({ upstreamResponse, response, changed, dropped, failure }: Recorded): unknown {
  if (failure !== undefined) return { failure };
  if (response !== undefined) return response;
  const fields = Object.entries({ ...(upstreamResponse.result as object), ...changed });
  return { result: Object.fromEntries(fields.filter(([name]) => dropped?.includes(name) !== true)) };
}
