import { handleBody } from '../gateway/call/handle-body.ts';
import { Call, type CallContext } from '../gateway/call/call.ts';
import { checkParams } from '../gateway/call/check.ts';
import { select } from '../gateway/call/select.ts';
import { largeResponse, resultResponse } from '../gateway/jsonrpc/response.ts';
import { readEnvelope, type RpcRequest } from '../gateway/jsonrpc/envelope.ts';
import type { KeyAccess } from '../gateway/auth/key-access.ts';
import { mayReturnText } from '../gateway/spec/method-facts.ts';
import { normalise } from '../gateway/normalise/normalise.ts';
import { openTransport } from '../gateway/networks/open-transport.ts';
import { Cancellation } from '../gateway/upstreams/transport/cancellation.ts';
import { Secrets } from '../gateway/upstreams/transport/credentials.ts';
import { readResponse } from '../gateway/upstreams/transport/read-response.ts';
import type { UpstreamResponse } from '../gateway/upstreams/transport/upstream-response.ts';
import type { GatewayParts } from './gateway-parts.ts';
import { SLOT, slotOf, type CallKind } from './wallet-calls.ts';

export interface Step {
  readonly name: string;
  /** Async functions are run concurrently, others one by one. */
  readonly work: () => unknown;
}

const TIMEOUT_MS = 10_000;
const BATCH = { maxValues: 20_000, maxItems: 1_000, maxResponseBytes: 25_000_000, concurrency: 50 };

/** The steps of one kind of call, in order. Each has the result of the previous one as its input. */
export async function stepsOf(kind: CallKind, parts: GatewayParts): Promise<Step[]> {
  const { key, limiter, log, authenticator, networks } = parts;
  const textOf = (number: number): string =>
    `{"jsonrpc":"2.0","id":1,"method":"${kind.method}","params":${kind.params}}`.replaceAll(SLOT, slotOf(number));
  const text = textOf(1);
  const bytes = Buffer.from(kind.result.replaceAll(SLOT, slotOf(1)));
  const body = Buffer.concat([Buffer.from('{"jsonrpc":"2.0","id":1,"result":'), bytes, Buffer.from('}')]);
  const url = `/bench/v3/${key}`;
  const network = networks.finder.get('bench');
  const method = network?.methods.get(kind.method);
  const sent = Buffer.from(text);
  const [request] = readEnvelope(sent, 1).items as RpcRequest[];
  const access: KeyAccess = await authenticator.authenticate(key, '127.0.0.1');
  const [upstream] = network?.config.upstreams ?? [];
  const transport = upstream && openTransport(upstream, { connections: 64, responseMaxBytes: 1e9 });
  if (network === undefined || method === undefined || request === undefined || transport === undefined) {
    throw new Error(`no network, method or upstream for ${kind.method}`);
  }
  const { spec } = method;
  const received = { status: 200, body };
  const secrets = mayReturnText(spec.name) ? new Secrets(transport.secrets) : undefined;
  const { params } = request;
  const call = new Call(network.router, spec, params, Infinity);
  const { response } = normalise(spec, params, readResponse(received, 1, secrets));
  const charge = { units: 1, byMethod: new Map<string, number>() };
  const limits = access.limits;
  let number = 0;
  const handleWhole = async (keyAccess: KeyAccess): Promise<void> => {
    // Every call differs, because identical calls would be coalesced.
    const body = Buffer.from(textOf(number++));
    const deadline = performance.now() + TIMEOUT_MS;
    const caller = new Cancellation();
    const context: CallContext = {
      network,
      access: keyAccess,
      limiter,
      requestId: '',
      deadline,
      caller,
      printers: [],
      log,
    };
    const response = await handleBody(body, context, BATCH);
    if (response?.status !== 200) throw new Error(`${kind.method} failed`);
  };
  return [
    {
      name: 'authenticate: the network and the key of a path',
      work: () => [networks.finder.find(url, '127.0.0.1:8545'), authenticator.authenticate(key, '127.0.0.1')],
    },
    { name: 'parse: the body', work: () => readEnvelope(sent, 1) },
    { name: 'limits: a rate, without Redis', work: () => limits && limiter.charge(limits, charge) },
    { name: 'validate: the parameters', work: () => checkParams(method, params, request.originalParamsText, access) },
    { name: 'select: the upstream', work: () => select(call, performance.now()) },
    {
      name: 'forward: HTTP with the upstream',
      work: async () => transport.send({ id: 1, body: text, deadline: performance.now() + TIMEOUT_MS }),
    },
    {
      name: 'normalise: parse and check the response',
      work: () => normalise(spec, params, readResponse(received, 1, secrets)),
    },
    { name: 'respond: write the result', work: () => writeResponse(response) },
    {
      name: 'metrics: count the call',
      work: () => {
        method.metric.started();
        method.metric.ended('result', performance.now());
        method.usage.add('key', 1, undefined, bytes.length);
      },
    },
    {
      name: 'all but HTTP with the client, no limits',
      work: async () => handleWhole({ ...access, limits: undefined }),
    },
  ];
}

function writeResponse(response: UpstreamResponse | undefined): unknown {
  if (response?.kind === 'large') return largeResponse('1', response.parts);
  return response?.kind === 'result'
    ? resultResponse('1', response.text ?? JSON.stringify(response.result))
    : undefined;
}
