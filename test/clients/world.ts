import type { PermissionChange } from '../../gateway/auth/stores/key-store.ts';
import { digestOf, keyIdOf } from '../../gateway/auth/formats/key.ts';
import { eventually } from '../support/eventually.ts';
import { startTcpProxy, type TcpProxy } from '../auth/tcp-proxy.ts';
import { startAnvil, type Anvil } from '../support/anvil.ts';
import { network, startGateway } from '../support/gateway.ts';
import type { ConnectionSettings } from './client.ts';
import { startRecordingProxy, type RecordingProxy } from './recording-proxy.ts';

/** The environment of one client: a chain, a gateway with two upstreams to it, and a proxy that records requests. */
export interface World {
  readonly anvil: Anvil;
  readonly proxy: RecordingProxy;
  readonly connection: ConnectionSettings;
  /** Breaks the connections to one upstream or both. `mend` restores them. */
  cut(upstreams: 'first' | 'second' | 'both'): Promise<void>;
  mend(): Promise<void>;
  /** Changes the permissions and limits of the client's key. */
  changeKey(change: PermissionChange): Promise<void>;
  /** Sends calls until the key's rate limit rejects one. */
  exhaust(): Promise<void>;
  /** Waits for the requests in progress, and stops everything. */
  close(): Promise<void>;
}

/** The third account of every anvil. It is public. */
const privateKey = '0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a';
export const account = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC';

export async function makeWorld(): Promise<World> {
  const anvil = await startAnvil();
  const port = Number(new URL(anvil.url).port);
  const [first, second] = await Promise.all([startTcpProxy(port), startTcpProxy(port)]);
  const links = [first, second];
  // The first delivers heads over WebSocket; the second is polled.
  const at = (link: TcpProxy): string => `//127.0.0.1:${link.port}`;
  const upstreams = [
    { name: 'first', url: `http:${at(first)}`, websocketUrl: `ws:${at(first)}` },
    { name: 'second', url: `http:${at(second)}` },
  ];
  const gateway = await startGateway({ local: { ...network(1337, []), upstreams } });
  const proxy = await startRecordingProxy(gateway.address);
  const path = `v3/${gateway.key}`;
  const digest = digestOf(gateway.key);
  let broken: readonly TcpProxy[] = [];
  return {
    anvil,
    proxy,
    connection: {
      http: `${proxy.address}/local/${path}`,
      ws: `${proxy.address.replace('http', 'ws')}/local/ws/${path}`,
      chainId: 1337,
      privateKey,
    },
    async cut(upstreams) {
      broken = upstreams === 'both' ? links : [upstreams === 'first' ? first : second];
      await Promise.all(broken.map((link) => link.cut()));
    },
    async mend() {
      await Promise.all(broken.map((link) => link.restore()));
      broken = [];
    },
    async changeKey(change) {
      let isChanged = false;
      gateway.gateway.keys.onChange((changed) => (isChanged ||= changed === digest || changed === undefined));
      await gateway.gateway.keys.update(keyIdOf(digest), change);
      await eventually(() => isChanged, 5_000);
    },
    async exhaust() {
      while ((await gateway.call('local', 'eth_blockNumber')).error === undefined);
    },
    async close() {
      await eventually(() => proxy.isIdle, 5_000);
      await gateway.stop();
      await Promise.all(links.map((link) => link.close()));
      await anvil.stop();
    },
  };
}
