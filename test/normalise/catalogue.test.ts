import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { RpcError } from '../../gateway/jsonrpc/errors.ts';
import { judge } from '../../gateway/normalise/judge.ts';
import { passThrough, type MethodSpec } from '../../gateway/spec/method-spec.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';
import { exhausted } from '../../gateway/upstream/exhausted.ts';
import { readReply } from '../../gateway/upstream/read-reply.ts';
import { UpstreamFailure, type FailureClass, type Reply, type Verdict } from '../../gateway/upstream/reply.ts';

/** An entry of the team's catalogue of node variants; its folder is not part of this repository. */
interface Case {
  readonly id: string;
  readonly client: string;
  readonly method: string;
  readonly upstream_response: unknown;
  readonly http_status: number | null;
  readonly expected: {
    readonly action: string;
    readonly error?: { readonly code: number; readonly message: string; readonly data?: string };
    readonly result?: unknown;
    readonly result_patch?: Readonly<Record<string, unknown>>;
    readonly keep?: readonly string[];
    readonly class?: string;
    readonly if_exhausted?: string;
  };
}

type JsonObject = Readonly<Record<string, unknown>>;

/** Cases in which the gateway does something else, and why. */
const deviations: Readonly<Record<string, string>> = {
  'obs-anvil-1-7-1-protocol-batch': 'the answer to a broken batch: the gateway sends calls one by one, never a batch',
};

const classes: Readonly<Record<string, readonly FailureClass[]>> = {
  node_state: ['node-state'],
  rate_limit: ['rate'],
  capacity: ['rate', 'transport'],
  timeout: ['rate', 'node-state'],
  request_too_large: ['too-large'],
  unsupported: ['unsupported'],
  malformed: ['malformed'],
};

const file = join(packageRoot, '../shared/data/node-variants.json');
const isThere = existsSync(file);
if (!isThere) console.warn(`${file} is not there: its cases are left out; test/recorded has a selection of them`);
const all = isThere ? (JSON.parse(readFileSync(file, 'utf8')) as Case[]) : [];
const cases = all.filter(({ client }) => /^(geth|anvil|zksync)/.test(client));

describe.runIf(isThere)('the catalogue of node variants: geth, anvil and zkSync Era', () => {
  it('has the cases that are meant', () => {
    expect(cases.length).toBeGreaterThanOrEqual(91);
  });

  it.each(cases.filter(({ id }) => !(id in deviations)).map((one) => [one.id, one] as const))('%s', (_, one) => {
    check(one);
  });

  it.each(Object.entries(deviations))('%s still deviates: %s', (id) => {
    const one = cases.find((each) => each.id === id);
    if (one === undefined) throw new Error('it is not in the catalogue any more');
    expect(() => {
      check(one);
    }).toThrow();
  });
});

function check(one: Case): void {
  const { expected } = one;
  const verdict = verdictOn(one);
  if (expected.action === 'failover') {
    expect(verdict).toMatchObject({ final: false });
    expect(classes[expected.class ?? '']).toContain(verdict.final ? undefined : verdict.failure);
    if (expected.if_exhausted !== undefined) checkExhausted(one, verdict, expected.if_exhausted);
    return;
  }
  if (!verdict.final) throw new Error(`another upstream is asked: ${verdict.failure}`);
  const { reply } = verdict;
  if (expected.error !== undefined) {
    expect(reply).toEqual({ kind: 'error', ...expected.error });
    return;
  }
  if ('result' in expected) expect(reply).toEqual({ kind: 'result', result: expected.result });
  else checkFields(reply, (one.upstream_response as { result: JsonObject }).result, expected);
}

/** What is left to be said when every upstream has answered so. */
function checkExhausted(one: Case, verdict: Verdict, ifExhausted: string): void {
  if (verdict.final) throw new Error('the answer is final');
  let said: Reply | RpcError;
  try {
    said = exhausted(specOf(one.method), [verdict]);
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    said = error;
  }
  const { error } = one.upstream_response as { error: { message: string } };
  const [code] = /-3\d{4}/.exec(ifExhausted) ?? [];
  if (code !== undefined) expect(said).toMatchObject({ code: Number(code) });
  else expect(said).toMatchObject({ message: expect.stringContaining(error.message) as string });
}

function checkFields(reply: Reply, given: JsonObject, { result_patch, keep }: Case['expected']): void {
  if (reply.kind === 'error') throw new Error('an error is passed on');
  const result = reply.result as JsonObject;
  for (const [name, value] of Object.entries(result_patch ?? {})) {
    const isDeleted = typeof value === 'object' && value !== null && '$delete' in value;
    if (isDeleted) expect(result, name).not.toHaveProperty(name);
    else expect(result[name], name).toEqual(value);
  }
  for (const name of keep ?? []) expect(result[name], name).toEqual(given[name]);
}

function verdictOn({ method, upstream_response: body, http_status: status }: Case): Verdict {
  const spec = specOf(method);
  const { id, result } = body as { id?: unknown; result?: JsonObject | null };
  const [identity] = spec.identity ?? [];
  const asked = identity === undefined ? undefined : result?.[identity.field];
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  try {
    return judge(spec, [asked], readReply(status ?? 200, text, typeof id === 'number' ? id : 1));
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
    return { final: false, failure: error.failure, reply: undefined };
  }
}

/** Some cases are of methods that this specification does not have; the texts would be the same. */
function specOf(name: string): MethodSpec {
  return methods.find((method) => method.name === name) ?? passThrough(name);
}
