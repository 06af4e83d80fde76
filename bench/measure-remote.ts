import { CheckedCalls, firstOfLoad } from './checked-calls.ts';
import { LoadGenerator, type Endpoint } from './load.ts';
import { peerPrograms, runtimePrograms } from './peers.ts';
import { cpuMicroseconds } from './processes.ts';
import { Random } from './random.ts';
import type { RemoteFigures, RemoteRound } from './results.ts';
import type { GatewayParts, Rig, RigGateway } from './rig.ts';
import type { RemoteScenario } from './scenarios.ts';
import { UpstreamBehaviour } from './upstream-behaviour.ts';
import { warmUp } from './warm-up.ts';

/** A round takes this many times its seconds: each call takes tens of milliseconds. */
const LENGTH = 4;
const WARM_UP_CONNECTIONS = 64;

interface Contender {
  readonly name: string;
  readonly endpoint: Endpoint;
  /** Process id; undefined: the upstream itself, which runs in this process. */
  readonly pid?: number;
}

/** Calls to an upstream that takes its time, direct and through each gateway, at the same load in the same rounds. */
export async function measureRemote(
  scenario: RemoteScenario,
  rig: Rig,
  rounds: number,
  seconds: number,
): Promise<RemoteRound[]> {
  const gateways: RigGateway[] = [];
  try {
    const contenders = await startContenders(scenario, rig, gateways);
    for (const { pid, port, paths } of gateways) {
      const { calls } = scenario;
      await warmUp({ endpoint: { port, paths }, pid, calls, connections: WARM_UP_CONNECTIONS }, seconds);
    }
    const remoteRounds: RemoteRound[] = [];
    // The first round is not counted: connections are opened, and gateways learn about the upstream.
    for (let round = 0; round <= rounds; round++) {
      const figures: [string, RemoteFigures][] = [];
      for (const contender of round % 2 === 0 ? contenders : contenders.toReversed())
        figures.push([contender.name, await measure(contender, scenario, rig, round, seconds)]);
      const { direct, Gatehouse, ...others } = Object.fromEntries(figures);
      if (round === 0 || direct === undefined || Gatehouse === undefined) continue;
      // Calls that the upstream refuses are no failures of the gateway: the page has their share.
      const outcomes = scenario.upstream.refuses === true ? noCalls : (Gatehouse.outcomes ?? noCalls);
      remoteRounds.push({ direct, Gatehouse, others, outcomes });
    }
    return remoteRounds;
  } finally {
    rig.upstream.behaviour = undefined;
    for (const gateway of gateways) await gateway.stop();
  }
}

const noCalls = { correct: 0, rejected: 0, failed: 0 };

/** @param gateways gets the started gateways, which the caller must stop */
async function startContenders(
  { comparesAlone, comparesPeers }: RemoteScenario,
  rig: Rig,
  gateways: RigGateway[],
): Promise<Contender[]> {
  const contenders: Contender[] = [{ name: 'direct', endpoint: { port: await rig.upstreamPort, paths: ['/'] } }];
  // A gateway of its own, because it learns about the upstream.
  const start = async (name: string, parts: GatewayParts): Promise<void> => {
    const gateway = await rig.gateway(parts);
    gateways.push(gateway);
    const { pid, port, paths } = gateway;
    contenders.push({ name, pid, endpoint: { port, paths } });
  };
  await start('Gatehouse', {});
  if (comparesAlone === true) await start('Gatehouse, batch: false', { batch: false });
  if (comparesPeers !== true) return contenders;
  const nginx = await rig.reference('nginx');
  if (nginx !== undefined)
    contenders.push({ name: 'nginx', pid: nginx.pid, endpoint: { port: nginx.port, paths: ['/'] } });
  for (const [name, node] of runtimePrograms()) await start(name, { node });
  for (const [name, program] of peerPrograms()) {
    const { port, pid, path = '/' } = await rig.peer(name, program);
    contenders.push({ name, pid, endpoint: { port, paths: [path] } });
  }
  return contenders;
}

async function measure(
  { endpoint, pid }: Contender,
  { calls, upstream, connections, perSecond, send = 0 }: RemoteScenario,
  rig: Rig,
  seed: number,
  seconds: number,
): Promise<RemoteFigures> {
  // The same seed gives the same arrival times and latencies for all.
  rig.upstream.behaviour = new UpstreamBehaviour(upstream, new Random(seed));
  const load = await LoadGenerator.open(endpoint, connections, new CheckedCalls(calls, send, Infinity, firstOfLoad()));
  const cpuBefore = pid === undefined ? 0 : cpuMicroseconds(pid);
  const startedAt = performance.now();
  if (perSecond === undefined) await load.saturate(LENGTH * seconds);
  else await load.sendAtRate(perSecond / (send || 1), LENGTH * seconds, new Random(seed));
  const elapsedS = (performance.now() - startedAt) / 1_000;
  load.close();
  const { latencies, outcomes } = load;
  const all = outcomes.correct + outcomes.rejected + outcomes.failed;
  return {
    ...latencies,
    perSecond: outcomes.correct / elapsedS,
    correctShare: outcomes.correct / all,
    ...(pid !== undefined && { cpuUs: (cpuMicroseconds(pid) - cpuBefore) / all }),
    outcomes: { ...outcomes },
  };
}
