import { CallQueue } from './call-queue.ts';
import type { Log } from './config/log.ts';
import type { Settings } from './config/settings.ts';
import type { Spawned } from './local-chain/local-chains.ts';
import type { Metrics } from './metrics/metrics.ts';
import type { NetworkConfig, UpstreamConfig } from './network/network-config.ts';
import { judge } from './normalise/judge.ts';
import type { ServedMethod, ServedNetwork } from './served-network.ts';
import type { ParamCheck } from './spec/check-params.ts';
import { localAnswers } from './spec/local-answers.ts';
import { passThrough, type MethodSpec } from './spec/method-spec.ts';
import type { ResultCheck } from './spec/result-check.ts';
import { HttpUpstream } from './upstream/http-upstream.ts';
import { Upstream, type Transport } from './upstream/upstream.ts';
import { Upstreams } from './upstream/upstreams.ts';
import type { UsageLedger } from './usage/usage-ledger.ts';
import { WebSocketUpstream } from './upstream/websocket-upstream.ts';

export interface ServeParts {
  readonly settings: Settings;
  readonly specs: readonly MethodSpec[];
  readonly checks: ReadonlyMap<string, ParamCheck>;
  readonly resultCheck: ResultCheck;
  readonly metrics: Metrics;
  readonly usage: UsageLedger;
  readonly log: Log;
}

/** Makes of a network's file all that its calls need. Asks nobody anything. */
export function serveNetwork(
  config: NetworkConfig,
  spawned: ReadonlyMap<UpstreamConfig, Spawned>,
  parts: ServeParts,
): ServedNetwork {
  const log = parts.log.child({ network: config.slug });
  const upstreams = config.upstreams.flatMap((upstream) =>
    openUpstream(config, upstream, spawned.get(upstream), parts),
  );
  return {
    config,
    methods: servedMethods(config, parts),
    otherMethods: {
      meter: parts.metrics.callMeter(config.slug, 'other'),
      usage: parts.usage.methodUsage(config.slug, 'other'),
    },
    upstreams: new Upstreams(upstreams, { judge, check: parts.resultCheck, confirmNull: config.confirmNull, log }),
    queue: new CallQueue({
      concurrency: parts.settings.NETWORK_CONCURRENCY,
      queueMax: parts.settings.NETWORK_QUEUE_MAX,
      onWaiting: parts.metrics.queueMeter(config.slug),
    }),
    sockets: parts.metrics.socketMeters(config.slug),
  };
}

function servedMethods(
  config: NetworkConfig,
  { specs, checks, metrics, usage }: ServeParts,
): Map<string, ServedMethod> {
  const results = localAnswers(config);
  return new Map(
    config.methods.map((name) => {
      const spec = specs.find((each) => each.name === name) ?? passThrough(name);
      const check = checks.get(name) ?? anyParams;
      const localResult = spec.answer === 'local' ? results.get(name) : undefined;
      const meter = metrics.callMeter(config.slug, name);
      return [name, { spec, check, localResult, meter, usage: usage.methodUsage(config.slug, name) }];
    }),
  );
}

/** Of methods that the spec does not know; that they are an array was seen before. */
const anyParams: ParamCheck = () => undefined;

function openUpstream(
  config: NetworkConfig,
  upstream: UpstreamConfig,
  spawned: Spawned | undefined,
  { settings, metrics }: ServeParts,
): Upstream[] {
  const transport = openTransport(upstream, spawned, settings);
  if (transport === undefined) return [];
  return [
    new Upstream({
      name: upstream.name,
      chainId: config.chainId,
      transport,
      timeoutMs: upstream.timeoutMs ?? settings.UPSTREAM_TIMEOUT_MS,
      ...(spawned !== undefined && { starting: spawned.ready }),
      meters: metrics.upstreamMeters(config.slug, upstream.name),
    }),
  ];
}

/** Undefined for a node that was not spawned. Connects to nothing yet. */
function openTransport(
  { url: given, websocketUrl, headers = {} }: UpstreamConfig,
  spawned: Spawned | undefined,
  { UPSTREAM_CONNECTIONS: connections, UPSTREAM_RESPONSE_MAX_BYTES: responseMaxBytes }: Settings,
): Transport | undefined {
  const url = given ?? spawned?.url;
  if (url !== undefined) return new HttpUpstream({ url, headers, connections, responseMaxBytes });
  return websocketUrl === undefined
    ? undefined
    : new WebSocketUpstream({ url: websocketUrl, headers, responseMaxBytes });
}
