import { CheckedCalls, type Outcomes } from './checked-calls.ts';
import { FixedUpstream } from './fixed-upstream.ts';
import { LoadGenerator, type Endpoint, type Latencies } from './load.ts';
import { Random } from './random.ts';
import type { RemoteRound } from './results.ts';
import type { Rig } from './rig.ts';
import type { RemoteScenario } from './scenarios.ts';

/** A round takes this many times its seconds: each call takes tens of milliseconds. */
const LENGTH = 4;

/** Latencies of calls to an upstream with a latency, direct and through the gateway, at the same load. */
export async function measureRemote(
  { calls, latencyMs: [min, max], connections, perSecond }: RemoteScenario,
  rig: Rig,
  rounds: number,
  seconds: number,
): Promise<RemoteRound[]> {
  let random = new Random(0);
  const upstream = new FixedUpstream(() => min + (max - min) * random.next());
  const upstreamPort = await upstream.listen();
  const gateway = await rig.gateway({ upstreamPort });
  const endpoints = {
    direct: { port: upstreamPort, paths: ['/'] },
    Gatehouse: { port: gateway.port, paths: gateway.paths },
  };
  const measure = async (endpoint: Endpoint, seed: number, outcomes: Outcomes): Promise<Latencies> => {
    // The same seed gives the same arrival times and latencies for all.
    random = new Random(seed);
    const load = await LoadGenerator.open(endpoint, connections, new CheckedCalls(calls));
    if (perSecond === undefined) await load.saturate(LENGTH * seconds);
    else await load.sendAtRate(perSecond, LENGTH * seconds, new Random(seed));
    load.close();
    for (const name of ['correct', 'rejected', 'failed'] as const) outcomes[name] += load.outcomes[name];
    return load.latencies;
  };
  try {
    const remoteRounds: RemoteRound[] = [];
    // The first round is not counted: connections are opened, and code is compiled.
    for (let round = 0; round <= rounds; round++) {
      const outcomes: Outcomes = { correct: 0, rejected: 0, failed: 0 };
      const direct = await measure(endpoints.direct, round, outcomes);
      const ofGatehouse = await measure(endpoints.Gatehouse, round, outcomes);
      if (round > 0) remoteRounds.push({ direct, Gatehouse: ofGatehouse, outcomes });
    }
    return remoteRounds;
  } finally {
    await gateway.stop();
    upstream.close();
  }
}
