import { handleBody } from '../gateway/handle-body.ts';
import { objectionTo, type CallContext } from '../gateway/handle-call.ts';
import { largeAnswer, resultAnswer } from '../gateway/jsonrpc/answer.ts';
import { readEnvelope, type Call } from '../gateway/jsonrpc/envelope.ts';
import type { KeyAccess } from '../gateway/keys/key-access.ts';
import { judge } from '../gateway/normalise/judge.ts';
import { openTransport } from '../gateway/serve-network.ts';
import { lookAtHead, type Asking } from '../gateway/upstream/asking.ts';
import { Cancellation } from '../gateway/upstream/cancellation.ts';
import { Choice } from '../gateway/upstream/choice.ts';
import type { Upstream } from '../gateway/upstream/upstream.ts';
import { ServedBlocks } from '../gateway/upstream/served-blocks.ts';
import { groupOf } from '../gateway/upstream/method-group.ts';
import { readReply } from '../gateway/upstream/read-reply.ts';
import type { Reply } from '../gateway/upstream/reply.ts';
import type { GatewayParts } from './gateway-parts.ts';
import { SLOT, slotOf, type CallKind } from './wallet-calls.ts';

export interface Step {
  readonly name: string;
  /** Async functions are run many at once. */
  readonly work: () => unknown;
}

const LIMIT_MS = 10_000;
const BATCH = { maxItems: 1_000, maxAnswerBytes: 25_000_000, concurrency: 50 };

/** The steps of one kind of call, in their order, each with what the one before it made. */
export async function stepsOf(kind: CallKind, parts: GatewayParts): Promise<Step[]> {
  const { key, limiter, log, authenticator, networks } = parts;
  const textOf = (number: number): string =>
    `{"jsonrpc":"2.0","id":1,"method":"${kind.method}","params":${kind.params}}`.replaceAll(SLOT, slotOf(number));
  const text = textOf(1);
  const bytes = Buffer.from(kind.result.replaceAll(SLOT, slotOf(1)));
  const body = Buffer.concat([Buffer.from('{"jsonrpc":"2.0","id":1,"result":'), bytes, Buffer.from('}')]);
  const url = `/bench/v3/${key}`;
  const network = networks.finder.named('bench');
  const method = network?.methods.get(kind.method);
  const [call] = readEnvelope(text, 1).items as Call[];
  const access: KeyAccess = await authenticator.authenticate(key, '127.0.0.1');
  const [upstream] = network?.config.upstreams ?? [];
  const transport = upstream && openTransport(upstream, { UPSTREAM_CONNECTIONS: 64, UPSTREAM_RESPONSE_MAX_BYTES: 1e9 });
  if (network === undefined || method === undefined || call === undefined || transport === undefined) {
    throw new Error(`nothing serves ${kind.method}`);
  }
  const { spec } = method;
  const served = new ServedBlocks<Upstream>(
    network.heads,
    () => undefined,
    () => undefined,
  );
  const choice = new Choice(network.upstreams.all, network.heads, served, undefined);
  const asking: Asking = { ...lookAtHead(), method: spec, group: groupOf(spec), params: call.params };
  const { reply } = judge(spec, call.params, readReply(200, body, 1));
  const charge = { weight: 1, byMethod: new Map<string, number>() };
  const limits = access.limits;
  let number = 0;
  const whole = async (own: KeyAccess): Promise<void> => {
    // Those that are the same would share one upstream call.
    const body = Buffer.from(textOf(number++));
    const deadline = performance.now() + LIMIT_MS;
    const caller = new Cancellation();
    const context: CallContext = {
      network,
      access: own,
      limiter,
      requestId: '',
      deadline,
      caller,
      watch: undefined,
      log,
    };
    if ((await handleBody(body, context, BATCH))?.status !== 200) throw new Error(`${kind.method} failed`);
  };
  return [
    {
      name: 'authenticate: the network and the key of a path',
      work: () => [networks.finder.find(url, '127.0.0.1:8545'), authenticator.authenticate(key, '127.0.0.1')],
    },
    { name: 'parse: the body', work: () => readEnvelope(text, 1) },
    { name: 'limits: a rate, without Redis', work: () => limits && limiter.charge(limits, charge) },
    { name: 'validate: the parameters', work: () => objectionTo(method, { ...call, objection: undefined }, access) },
    { name: 'select: the upstream', work: () => choice.next(asking, performance.now()) },
    { name: 'forward: HTTP with the upstream', work: async () => transport.exchange(text, LIMIT_MS, 1) },
    { name: 'normalise: parse and check the response', work: () => judge(spec, call.params, readReply(200, body, 1)) },
    { name: 'respond: write the result', work: () => written(reply) },
    {
      name: 'metrics: count the call',
      work: () => {
        method.meter.started();
        method.meter.ended('result', performance.now());
        method.usage.add('key', 1, false, bytes.length);
      },
    },
    { name: 'all but HTTP with the client, no limits', work: async () => whole({ ...access, limits: undefined }) },
  ];
}

function written(reply: Reply | undefined): unknown {
  if (reply?.kind === 'large') return largeAnswer('1', reply.parts);
  return reply?.kind === 'result' ? resultAnswer('1', reply.text ?? JSON.stringify(reply.result)) : undefined;
}
