import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProgram } from '../test/support/find-program.ts';
import { programs } from '../test/support/programs.ts';
import { FixedUpstream } from './fixed-upstream.ts';
import { freePorts, pidOf, removeFolder, start, stop, stopAll, untilOpen } from './processes.ts';
import { startPeer } from './peers.ts';
import { startBareProxy, startHaproxy, startNginx, type Reference } from './references.ts';
import type { CostScenario } from './scenarios.ts';
import { startGateway, type GatewaySetup, type StartedGateway } from './start-gateway.ts';

/** Parts of a scenario with which it needs a gateway of its own. */
export const gatewayParts = ['networks', 'keys', 'store', 'permissions', 'env', 'batch', 'upstream'] as const;

type ScenarioParts = Pick<CostScenario, (typeof gatewayParts)[number]>;

export type GatewayParts = ScenarioParts & Pick<GatewaySetup, 'node'> & { readonly upstreamPort?: number };

/** A started gateway with its own Redis, if it needs one. */
export interface RigGateway extends StartedGateway {
  readonly redisPid: number | undefined;
  stop(): Promise<void>;
}

/** Starts what a scenario needs: the upstream and the reference proxies at their first use, and gateways on demand. */
export class Rig {
  readonly upstream = new FixedUpstream();
  readonly #folder = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
  readonly #references = new Map<string, Promise<Reference | undefined>>();
  readonly #peers = new Map<string, Promise<Reference>>();
  #upstreamPort: Promise<number> | undefined;
  #socketPort: Promise<number> | undefined;
  #gateways = 0;
  #defaultGateway: Promise<RigGateway> | undefined;

  get upstreamPort(): Promise<number> {
    return (this.#upstreamPort ??= this.upstream.listen());
  }

  /** @returns undefined if the program is not installed */
  reference(name: 'nginx' | 'HAProxy' | 'bare Node proxy'): Promise<Reference | undefined> {
    let started = this.#references.get(name);
    if (started === undefined) this.#references.set(name, (started = this.#start(name)));
    return started;
  }

  /** A gateway by others. @param program the path of its program */
  peer(name: string, program: string): Promise<Reference> {
    let started = this.#peers.get(name);
    if (started === undefined) {
      started = this.upstreamPort.then((port) => startPeer(name, program, join(this.#folder, name), port));
      this.#peers.set(name, started);
    }
    return started;
  }

  get socketPort(): Promise<number> {
    return (this.#socketPort ??= this.upstream.listenForSockets());
  }

  /** One gateway with the default settings for all scenarios, which is warm after the first of them. */
  get defaultGateway(): Promise<RigGateway> {
    return (this.#defaultGateway ??= this.gateway({}).then((gateway) => ({
      ...gateway,
      stop: () => Promise.resolve(),
    })));
  }

  async gateway(parts: GatewayParts): Promise<RigGateway> {
    const { networks = 1, keys = 1, store, permissions, env, batch, node } = parts;
    const folder = join(this.#folder, `gateway-${++this.#gateways}`);
    const redis = store === 'redis' ? await this.#startRedis() : undefined;
    const address =
      parts.upstream === 'websocket'
        ? { websocketUrl: `ws://127.0.0.1:${await this.socketPort}` }
        : { url: `http://127.0.0.1:${parts.upstreamPort ?? (await this.upstreamPort)}` };
    const upstreams = [{ name: 'fixed', ...address, ...(batch !== undefined && { batch }) }];
    const file = { name: 'Bench', chainId: 1, methods: ['eth', 'zks', 'debug_traceTransaction'], upstreams };
    const gateway = await startGateway(folder, {
      networks: Object.fromEntries(Array.from({ length: networks }, (_, index) => [`network-${index}`, file])),
      ...{ keys, node, redisUrl: redis?.url, ...(env !== undefined && { env }) },
      ...(permissions !== undefined && { permissions }),
    });
    return {
      ...gateway,
      redisPid: redis?.pid,
      stop: async () => {
        await stop(gateway.child);
        await redis?.stop();
      },
    };
  }

  close(): void {
    stopAll();
    this.upstream.close();
    removeFolder(this.#folder);
  }

  async #start(name: string): Promise<Reference | undefined> {
    const upstream = await this.upstreamPort;
    if (name === 'nginx') return startNginx(join(this.#folder, 'nginx'), upstream);
    return name === 'HAProxy' ? startHaproxy(join(this.#folder, 'haproxy'), upstream) : startBareProxy(upstream);
  }

  async #startRedis(): Promise<{ url: string; pid: number; stop: () => Promise<void> }> {
    const [port = 0] = await freePorts(1);
    const args = ['--port', String(port), '--save', '', '--appendonly', 'no', '--dir', this.#folder];
    const child = start(findProgram(programs.redis), args);
    await untilOpen(port);
    return { url: `redis://127.0.0.1:${port}`, pid: pidOf(child), stop: () => stop(child) };
  }
}
