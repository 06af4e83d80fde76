import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pinned } from './pinning.ts';
import { freePorts, pidOf, start, texts, untilServing } from './processes.ts';
import type { Reference } from './references.ts';
import { allKinds } from './wallet-calls.ts';

/** Ports and the upstream of a peer that is started. */
export interface PeerSetup {
  readonly port: number;
  /** Port for metrics, where they cannot be turned off. */
  readonly opsPort: number;
  readonly upstream: string;
}

/** How a peer's program is started: with one network, one upstream, and no cache. */
interface Peer {
  /** The path of calls. */
  readonly path: string;
  /** The name and the text of its configuration file. */
  readonly file: string;
  readonly configuration: (setup: PeerSetup) => string;
  readonly args: (file: string) => readonly string[];
  readonly env?: (file: string) => Readonly<Record<string, string>>;
}

/** Begins the names of rows with Gatehouse on another Node. */
const RUNTIME_PREFIX = 'Gatehouse, ';

const methods = [...new Set(allKinds.map(({ method }) => method)), 'eth_chainId'];

/** Gateways by others, whose programs `--peer NAME=PATH` names. Calls are sent to them as to Gatehouse. */
export const peers: Readonly<Record<string, Peer>> = {
  erpc: {
    path: '/main/evm/1',
    file: 'erpc.yaml',
    configuration: ({ port, upstream }) => `
logLevel: error
server: { listenV4: true, httpHostV4: 127.0.0.1, httpPortV4: ${port} }
metrics: { enabled: false }
projects:
  - id: main
    upstreams:
      - { id: fixed, endpoint: "${upstream}", evm: { chainId: 1 } }
`,
    args: (file) => ['--config', file],
  },
  proxyd: {
    path: '/',
    file: 'proxyd.toml',
    configuration: ({ port, upstream }) => `
[server]
rpc_host = "127.0.0.1"
rpc_port = ${port}
max_body_size_bytes = 10485760
log_level = "error"
[batch]
max_size = 1000
[backend]
response_timeout_seconds = 10
[backends.fixed]
rpc_url = "${upstream}"
[backend_groups.main]
backends = ["fixed"]
[rpc_method_mappings]
${methods.map((method) => `${method} = "main"`).join('\n')}
`,
    args: (file) => [file],
  },
  nodecore: {
    path: '/queries/ethereum',
    file: 'nodecore.yml',
    configuration: ({ port, opsPort, upstream }) => `
server: { port: ${port}, metrics-port: ${opsPort} }
upstream-config:
  upstreams:
    - id: fixed
      chain: ethereum
      options: { disable-validation: true }
      connectors:
        - { type: json-rpc, url: "${upstream}" }
`,
    args: () => [],
    env: (file) => ({ NODECORE_CONFIG_PATH: file }),
  },
};

/** The peers on the command line: paths of their programs by name. */
export function peerPrograms(): Map<string, string> {
  return pathsOf('peer', `NAME=PATH with one of ${Object.keys(peers).join(', ')}`, (name) =>
    Object.hasOwn(peers, name),
  );
}

/** Gatehouse on other Nodes of the command line: their paths by the name of the row. */
export function runtimePrograms(): Map<string, string> {
  const paths = pathsOf('runtime', 'NAME=PATH', (name) => name !== '');
  return new Map([...paths].map(([name, path]) => [`${RUNTIME_PREFIX}${name}`, path]));
}

function pathsOf(option: string, expected: string, isKnown: (name: string) => boolean): Map<string, string> {
  return new Map(
    texts(option).map((text) => {
      const [name = '', path] = text.split(/=(.*)/s);
      if (path === undefined || !isKnown(name)) throw new Error(`--${option} ${text}: expected ${expected}`);
      return [name, path];
    }),
  );
}

/** Starts a peer's program, and waits until it serves calls. @param folder for its configuration */
export async function startPeer(name: string, program: string, folder: string, upstream: number): Promise<Reference> {
  const peer = peers[name];
  if (peer === undefined) throw new Error(`no peer named ${name}`);
  const [port = 0, opsPort = 0] = await freePorts(2);
  const file = join(folder, peer.file);
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, peer.configuration({ port, opsPort, upstream: `http://127.0.0.1:${upstream}` }));
  const env = { PATH: process.env['PATH'], HOME: folder, ...peer.env?.(file) };
  const child = start(...pinned(program, peer.args(file)), env);
  await untilServing(`http://127.0.0.1:${port}${peer.path}`);
  return { port, pid: pidOf(child), path: peer.path };
}
