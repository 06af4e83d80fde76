import type { PermissionChange } from '../../gateway/auth/stores/key-store.ts';
import { digestOf, keyIdOf } from '../../gateway/auth/formats/key.ts';
import { eventually } from '../auth/eventually.ts';
import { startTcpProxy, type TcpProxy } from '../auth/tcp-proxy.ts';
import { startAnvil, type Anvil } from '../support/anvil.ts';
import { network, startGateway } from '../support/gateway.ts';
import type { Place } from './client.ts';
import { startWire, type Wire } from './wire.ts';

/** What a client lives in: a chain behind two upstreams of a gateway, and a wire on which all it says is seen. */
export interface World {
  readonly anvil: Anvil;
  readonly wire: Wire;
  readonly place: Place;
  /** Breaks what leads to an upstream, or to both; `mend` makes them whole. */
  cut(which: 'first' | 'second' | 'both'): Promise<void>;
  mend(): Promise<void>;
  /** Changes the rules of the client's key. */
  rules(change: PermissionChange): Promise<void>;
  /** Uses up what the key has left, by calls of our own. */
  exhaust(): Promise<void>;
  /** When what its client still asked is answered. */
  close(): Promise<void>;
}

/** The third account of every anvil, and thereby no secret. */
const privateKey = '0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a';
export const account = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC';

export async function makeWorld(): Promise<World> {
  const anvil = await startAnvil();
  const port = Number(new URL(anvil.url).port);
  const [first, second] = await Promise.all([startTcpProxy(port), startTcpProxy(port)]);
  const links = [first, second];
  // The first tells of blocks by itself; the second is asked for them.
  const at = (link: TcpProxy): string => `//127.0.0.1:${link.port}`;
  const upstreams = [
    { name: 'first', url: `http:${at(first)}`, websocketUrl: `ws:${at(first)}` },
    { name: 'second', url: `http:${at(second)}` },
  ];
  const gateway = await startGateway({ local: { ...network(1337, []), upstreams } });
  const wire = await startWire(gateway.address);
  const path = `v3/${gateway.key}`;
  const digest = digestOf(gateway.key);
  let broken: readonly TcpProxy[] = [];
  return {
    anvil,
    wire,
    place: {
      http: `${wire.address}/local/${path}`,
      ws: `${wire.address.replace('http', 'ws')}/local/ws/${path}`,
      chainId: 1337,
      privateKey,
    },
    async cut(which) {
      broken = which === 'both' ? links : [which === 'first' ? first : second];
      await Promise.all(broken.map((link) => link.cut()));
    },
    async mend() {
      await Promise.all(broken.map((link) => link.mend()));
      broken = [];
    },
    async rules(change) {
      let told = false;
      gateway.gateway.keys.onChange((changed) => (told ||= changed === digest || changed === undefined));
      await gateway.gateway.keys.update(keyIdOf(digest), change);
      await eventually(() => told, 5_000);
    },
    async exhaust() {
      while ((await gateway.call('local', 'eth_blockNumber')).error === undefined);
    },
    async close() {
      await eventually(() => wire.isQuiet, 5_000);
      await gateway.stop();
      await Promise.all(links.map((link) => link.close()));
      await anvil.stop();
    },
  };
}
