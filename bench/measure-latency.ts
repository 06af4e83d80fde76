import { CheckedCalls, type Outcomes } from './checked-calls.ts';
import { Lines, type Endpoint, type Latencies } from './load.ts';
import { Random } from './random.ts';
import type { LatencyRound } from './results.ts';
import type { Rig } from './rig.ts';
import type { LatencyScenario } from './scenarios.ts';

const CONNECTIONS = 64;
/** For each second of a round: until then its code is being compiled. */
const WARM_CALLS = 20_000;
/** Half of what the gateway can do. */
const SHARE = 0.5;

/** Times of calls at half the gateway's load: through it, through nginx, and with nobody between, at the same rate. */
export async function measureLatency(
  { calls }: LatencyScenario,
  rig: Rig,
  rounds: number,
  seconds: number,
): Promise<LatencyRound[]> {
  const gateway = await rig.gateway({});
  try {
    const nginx = await rig.reference('nginx');
    const endpoints = {
      direct: { port: await rig.upstreamPort, paths: ['/'] },
      nginx: { port: nginx?.port ?? 0, paths: ['/'] },
      Gatehouse: { port: gateway.port, paths: gateway.paths },
    };
    for (let sent = 0; sent < WARM_CALLS * seconds;)
      sent += seconds * (await flood(endpoints.Gatehouse, calls, seconds));
    const found: LatencyRound[] = [];
    for (let round = 0; round < rounds; round++) {
      const perSecond = SHARE * (await flood(endpoints.Gatehouse, calls, seconds));
      const outcomes: Outcomes = { right: 0, refused: 0, failed: 0 };
      const times = async (endpoint: Endpoint): Promise<Latencies> => {
        const lines = await Lines.open(endpoint, CONNECTIONS, new CheckedCalls(calls));
        // The same moments for each.
        const latencies = await lines.pace(perSecond, 2 * seconds, new Random(round));
        lines.close();
        for (const name of ['right', 'refused', 'failed'] as const) outcomes[name] += lines.outcomes[name];
        return latencies;
      };
      const [direct, through] = [await times(endpoints.direct), await times(endpoints.nginx)];
      found.push({ perSecond, direct, nginx: through, Gatehouse: await times(endpoints.Gatehouse), outcomes });
    }
    return found;
  } finally {
    await gateway.stop();
  }
}

/** @returns right answers a second */
async function flood(endpoint: Endpoint, calls: LatencyScenario['calls'], seconds: number): Promise<number> {
  const lines = await Lines.open(endpoint, CONNECTIONS, new CheckedCalls(calls));
  const took = await lines.flood(seconds);
  lines.close();
  return lines.outcomes.right / took;
}
