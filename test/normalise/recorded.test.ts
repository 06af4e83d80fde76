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

/** One entry of test/recorded; what the fields mean stands in anvil.yaml. */
interface Recorded {
  readonly name: string;
  readonly client: string;
  readonly version: string;
  readonly evidence: 'recorded' | 'printed' | 'made from source';
  readonly source?: string;
  readonly method: string;
  readonly params?: readonly unknown[];
  readonly reply: { readonly result?: unknown; readonly error?: unknown };
  readonly answer?: { readonly result?: unknown; readonly error?: unknown };
  readonly changed?: object;
  readonly dropped?: readonly string[];
  readonly elsewhere?: string;
}

const folder = join(packageRoot, 'test/recorded');

/** Answers that cannot be what the specification says, because the chain has no such thing; null stands in its place. */
const lacking: Readonly<Record<string, readonly string[]>> = {
  'a transaction from the layer below, without a signature': ['/r', '/s', '/v'],
  'a transaction whose fee is paid in another currency': ['/gasPrice'],
};
const resultSchemas = JSON.parse(readFileSync(join(packageRoot, 'schemas/generated/results.json'), 'utf8')) as Record<
  string,
  object
>;
const ajv = strictAjv();
ajv.opts.allErrors = true;

describe.each(readdirSync(folder).sort())('replies of %s', (file) => {
  const entries = parse(readFileSync(join(folder, file), 'utf8')) as Recorded[];

  it.each(entries.map((entry) => [titleOf(entry), entry] as const))('%s', (_, entry) => {
    expect(saidOf(judgeEntry(entry))).toEqual(expectedOf(entry));
  });

  it('become results that are as the specification says', () => {
    for (const entry of entries) {
      const verdict = judgeEntry(entry);
      if (!verdict.final || verdict.response.kind !== 'result') continue;
      const fits = ajv.compile(resultSchemas[entry.method] ?? false);
      fits(verdict.response.result);
      const unfit = new Set(fits.errors?.filter(({ keyword }) => keyword !== 'if').map((error) => error.instancePath));
      expect([...unfit].sort(), entry.name).toEqual(lacking[entry.name] ?? []);
    }
  });

  it('all bear their origin', () => {
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

function judgeEntry({ method, params, reply: response }: Recorded): Outcome {
  const bytes = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, ...response }));
  return normalise(specOf(method), params ?? [], parseResponse(readResponse(200, bytes, 1)));
}

/** As the caller sees it, or the reason for which another upstream is asked. */
function saidOf(verdict: Outcome): unknown {
  if (!verdict.final) return { elsewhere: verdict.failure };
  const response = parseResponse(verdict.response);
  if (response.kind === 'result') return { result: response.result };
  const { code, message, data } = response;
  return { error: { code, message, ...(data === undefined ? {} : { data }) } };
}

function expectedOf({ reply: upstreamResponse, answer: response, changed, dropped, elsewhere }: Recorded): unknown {
  if (elsewhere !== undefined) return { elsewhere };
  if (response !== undefined) return response;
  const fields = Object.entries({ ...(upstreamResponse.result as object), ...changed });
  return { result: Object.fromEntries(fields.filter(([name]) => dropped?.includes(name) !== true)) };
}
