import { parseArgs } from 'node:util';
import { clock } from '../../gateway/clock/clock.ts';
import { openHttpTarget } from './http-target.ts';
import { plants, type TargetName } from './plants.ts';
import { startSession } from './session.ts';
import type { FuzzTarget } from './target.ts';
import { openUpstreamTarget } from './upstream-target.ts';
import { openWebSocketTarget } from './web-socket-target.ts';

/*
 * npm run test:all -- fuzz [--seed N] [--minutes M] [--target http|websocket|upstream] [--rounds R] [--planted]
 *
 * Each target has a third of the minutes, and a round for each seed from N on. A finding is printed with the seed of its
 * round: `--target http --seed 17 --rounds 1` repeats it. `--planted` shows that a defect in each target is found.
 */

const targets: Readonly<Record<TargetName, () => Promise<FuzzTarget>>> = {
  http: openHttpTarget,
  websocket: openWebSocketTarget,
  upstream: openUpstreamTarget,
};
const MAX_FINDINGS = 10;
const PLANTED_MINUTES = 1;

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '12' },
    rounds: { type: 'string', default: 'Infinity' },
    target: { type: 'string' },
    planted: { type: 'boolean', default: false },
  },
});
const seed = Number(values.seed);
const names = (Object.keys(targets) as TargetName[]).filter((name) =>
  [undefined, name].includes(values.target as TargetName),
);
if (!Number.isSafeInteger(seed) || names.length === 0)
  throw new Error('usage: --seed N --minutes M --target http|websocket|upstream');

let hasFailed = false;
if (values.planted) {
  for (const { name, target } of plants.filter((plant) => names.includes(plant.target))) {
    const findings = await fuzz(target, PLANTED_MINUTES, { plant: name, maxFindings: 1 });
    console.log(findings.length > 0 ? `${target}: found: ${name}\n` : `${target}: NOT FOUND: ${name}\n`);
    if (findings.length === 0) hasFailed = true;
  }
} else {
  for (const name of names) {
    const findings = await fuzz(name, Number(values.minutes) / names.length);
    if (findings.length > 0) hasFailed = true;
  }
}
process.exitCode = hasFailed ? 1 : 0;

/** @returns what is wrong, at most `maxFindings` */
async function fuzz(
  name: TargetName,
  minutes: number,
  { plant, maxFindings = MAX_FINDINGS }: { plant?: string; maxFindings?: number } = {},
): Promise<string[]> {
  const target = await targets[name]();
  const findings: string[] = [];
  let rounds = 0;
  try {
    const session = await startSession(target.networks, plant);
    try {
      const end = clock.now() + minutes * 60_000;
      for (; clock.now() < end && rounds < Number(values.rounds) && findings.length < maxFindings; rounds++) {
        const startedAt = new Date().toISOString();
        const found = [...(await target.playRound(session, seed + rounds)), ...session.takeFindings()];
        for (const finding of found.slice(0, maxFindings - findings.length)) {
          console.log(`${name}: seed ${seed + rounds} (begun ${startedAt}): ${finding}`);
        }
        findings.push(...found);
        if (found.some((finding) => finding.startsWith('the process has ended'))) break;
      }
      console.log(
        `${name}: ${rounds} rounds, seeds ${seed} to ${seed + rounds - 1}: ${findings.length} findings; ${session.figures()}`,
      );
      console.log(`  ${JSON.stringify(target.counts())}`);
    } finally {
      await session.stop();
    }
  } finally {
    await target.stop();
  }
  return findings;
}
