import { compileAccess } from '../../gateway/auth/key-access.ts';
import { ResponseCache } from '../../gateway/cache/response-cache.ts';
import type { CallContext } from '../../gateway/call/call.ts';
import { handleBody } from '../../gateway/call/handle-body.ts';
import { openVerification } from '../../gateway/call/verification.ts';
import { chainTopics, type ChainMessage } from '../../gateway/chain/chain-peers.ts';
import { clock } from '../../gateway/clock/clock.ts';
import { openLog } from '../../gateway/config/log.ts';
import { processBounds } from '../../gateway/config/process-bounds.ts';
import { readSettings } from '../../gateway/config/settings.ts';
import { Limiter } from '../../gateway/limits/limiter.ts';
import { OpenCounts } from '../../gateway/limits/open-counts.ts';
import { LocalChains } from '../../gateway/networks/local-chains.ts';
import { Metrics } from '../../gateway/metrics/metrics.ts';
import type { Configuration } from '../../gateway/network-files/network-config.ts';
import { upstreamIdentity } from '../../gateway/network-files/network-config.ts';
import { readNetwork } from '../../gateway/network-files/read-network.ts';
import { openNetwork, type OpenNetwork } from '../../gateway/networks/network.ts';
import { compileParamChecks } from '../../gateway/spec/check-params.ts';
import { methodFacts } from '../../gateway/spec/method-facts.ts';
import { methods as specs } from '../../gateway/spec/methods.generated.ts';
import { attemptTimesMs } from '../../gateway/spec/method-spec.ts';
import { compileResultCheck } from '../../gateway/spec/result-check.ts';
import type { Condition } from '../../gateway/observability/event-list.ts';
import type { Proof } from '../../gateway/jsonrpc/proof.ts';
import { currentConditions } from '../../gateway/server/ops/current-conditions.ts';
import { KeySessions } from '../../gateway/server/websocket/key-sessions.ts';
import { SocketSubscriptions } from '../../gateway/subscriptions/socket-subscriptions.ts';
import { Cancellation } from '../../gateway/upstreams/transport/cancellation.ts';
import { UpstreamConditions } from '../../gateway/upstreams/upstream-status.ts';
import { Upstream } from '../../gateway/upstreams/upstream.ts';
import { UsageLedger } from '../../gateway/usage/usage-ledger.ts';
import type { UsageStore } from '../../gateway/usage/usage-store.ts';
import type { WorkerLink } from '../../gateway/workers/worker-link.ts';
import type { ChainNetwork } from '../soak/chain-network.ts';
import type { Client, ClientSocket } from '../soak/client.ts';
import type { MemoryNode } from './memory-node.ts';

const settings = readSettings({ NETWORKS_DIR: '.', DATA_DIR: '.', LOG_LEVEL: 'silent' });
/** Checks of parameters and results, shared by all gateways of a process: compiling them takes longer than most simulations of tests. */
const compiled = { checks: compileParamChecks(), resultCheck: compileResultCheck() };
/** Time from the client to the gateway. Without it, a client that polls in a loop would stop the time. */
const REQUEST_MS = 1;
const SUBSCRIPTIONS_MAX = 1_000;
/** "Try again later": the gateway ended the socket. */
const CLOSED_BY_GATEWAY = 1013;

/** Keeps nothing. */
const usageStore: Pick<UsageStore, 'isUp' | 'add'> = { isUp: true, add: () => Promise.resolve([]) };

/**
 * One network as the gateway constructs it, over nodes in memory, and its callers. What is missing is the server: HTTP,
 * WebSocket frames, keys, Redis. The clock must have been replaced before.
 */
export class SimulatedGateway {
  readonly #log = openLog('silent');
  readonly #limiter = new Limiter({ sums: undefined, shouldServeWithoutRedis: true });
  readonly #access = compileAccess({ id: 'simulation', name: 'simulation', createdAt: '' });
  readonly #network: OpenNetwork;
  readonly #metrics = new Metrics();
  readonly #conditions = new UpstreamConditions();
  #requests = 0;

  /** @param nodes by the ports in the network file of the chain @param link of one of several workers, which has joined */
  constructor(chain: ChainNetwork, nodes: readonly MemoryNode[], link?: WorkerLink) {
    const { name } = chain.options;
    const options = { folder: '.', ...methodFacts, env: {} };
    const { network: config, diagnostics } = readNetwork(name, JSON.stringify(chain.file()), options);
    if (config === undefined || diagnostics.length > 0) throw new Error(JSON.stringify(diagnostics));
    const metrics = this.#metrics;
    const openUpstreams = new Map<string, Upstream>();
    for (const upstream of config.upstreams) {
      const node = nodes.find(({ port }) => port === Number(new URL(upstream.url ?? '').port));
      if (node === undefined) throw new Error(`there is no node for ${upstream.name}`);
      const parts = {
        shared: { name: `${name}/${upstream.name}`, limiter: this.#limiter, leases: undefined },
        chainId: config.chainId,
        transport: node,
        defaultTimeoutMs: settings.UPSTREAM_TIMEOUT_MS ?? attemptTimesMs.lookup,
        ...(upstream.websocketUrl !== undefined && { webSocket: node }),
        metrics: metrics.upstreamMetrics(name, upstream.name),
        log: this.#log,
      };
      openUpstreams.set(upstreamIdentity(config, upstream), new Upstream(upstream, upstream, parts));
    }
    this.#network = openNetwork(config, {
      ...{ settings, bounds: processBounds, specs, unitsTable: {}, metrics, log: this.#log, openUpstreams },
      ...compiled,
      usage: new UsageLedger(usageStore),
      cache: new ResponseCache(settings.CACHE_MAX_BYTES),
      durable: undefined,
      ...{ shownParams: undefined, memory: undefined, link, leases: undefined, limiter: this.#limiter },
      localChains: new LocalChains(settings, this.#log),
    });
    this.#network.adoptSharedState();
    link?.on(chainTopics.event, ({ event }: ChainMessage) => {
      this.#network.chain.received(event);
    });
  }

  /** What proves the last response to a body; undefined: results are not proven. */
  proof: Proof | undefined;

  /** Metrics in Prometheus' text format. */
  metrics(): Promise<string> {
    return this.#metrics.registry.metrics();
  }

  /** The upstreams that are marked as being on another branch. */
  get marked(): readonly string[] {
    return [...this.#network.chain.view.upstreams].flatMap(([{ name }, { mark }]) => (mark === undefined ? [] : name));
  }

  /** What is wrong now: the list of events has it. */
  conditions(): readonly Condition[] {
    return currentConditions({
      networks: () => [this.#network],
      upstreams: this.#conditions,
      store: { isUp: true, isFull: false },
      memoryState: () => 'normal',
      configuration: () => ({ refused: null }) as Configuration,
    });
  }

  /** A client with connections of its own. */
  connect(): Client {
    const caller = new Cancellation(this.#access.account);
    return {
      post: (body) => this.#handle(body, this.#contextOf(caller)),
      openSocket: (onMessage) => Promise.resolve(this.#openSocket(onMessage)),
      close: () => {
        caller.cancel();
      },
    };
  }

  #openSocket(onMessage: (text: string) => void): ClientSocket {
    const access = this.#access;
    const caller = new Cancellation(access.account);
    let isOpen = true;
    let end: (code: number) => void = () => undefined;
    const closed = new Promise<number>((resolve) => (end = resolve));
    const close = (code: number): void => {
      if (!isOpen) return;
      isOpen = false;
      caller.cancel();
      subscriptions.close();
      end(code);
    };
    const deliver = (text: string): void => {
      if (isOpen) onMessage(text);
    };
    const subscriptions: SocketSubscriptions = new SocketSubscriptions({
      subscriptions: this.#network.subscriptions,
      keySessions: new KeySessions('', access, new OpenCounts()),
      limiter: this.#limiter,
      session: { network: this.#network },
      max: SUBSCRIPTIONS_MAX,
      kept: { memory: undefined, valuesMax: processBounds.filterValuesPerKey },
      send: (start, results) => {
        for (const result of results) deliver(`${start}${result.toString()}}}`);
      },
      end: () => {
        close(CLOSED_BY_GATEWAY);
      },
    });
    const respondTo = async (body: string): Promise<void> => {
      const context = this.#contextOf(caller, subscriptions);
      deliver(await this.#handle(body, context));
      subscriptions.startNotifications(context);
    };
    return {
      get isOpen() {
        return isOpen;
      },
      closed,
      send: (text) => {
        // A body that is rejected as a whole has no response, which the checker finds.
        respondTo(text).catch(() => undefined);
      },
      terminate: () => {
        close(1006);
      },
    };
  }

  #contextOf(caller: Cancellation, subscriptions?: SocketSubscriptions): CallContext {
    const verification = openVerification(this.#network, this.#access, undefined);
    return {
      ...(verification !== undefined && { verification }),
      ...{ network: this.#network, access: this.#access, limiter: this.#limiter, log: this.#log, caller },
      requestId: String(++this.#requests),
      deadline: clock.now() + settings.CALL_TIMEOUT_MS,
      printers: [],
      ...(subscriptions !== undefined && { subscriptions }),
    };
  }

  async #handle(body: string, context: CallContext): Promise<string> {
    await clock.sleep(REQUEST_MS);
    const response = await handleBody(Buffer.from(body), context, {
      maxItems: settings.BATCH_MAX_ITEMS,
      maxValues: processBounds.callMaxValues,
      maxResponseBytes: processBounds.batchResponseMaxBytes,
      concurrency: processBounds.batchConcurrency,
    });
    this.proof = context.verification?.proof;
    return String(response?.body ?? '');
  }
}
