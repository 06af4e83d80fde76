import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../support/eventually.ts';
import { findProgram } from '../support/find-program.ts';
import { freePort } from '../support/redis.ts';
import { tracked } from '../support/child-processes.ts';

export interface Alert {
  readonly state: 'pending' | 'firing';
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface Prometheus {
  alerts(): Promise<Alert[]>;
  stop(): Promise<void>;
}

/**
 * Starts a real Prometheus with the files of `deploy/prometheus`. Only its times are shorter: it scrapes every second, and
 * alerts fire after 5 s.
 * @param target address of the gateway's ops port, as the documentation says
 */
export async function startPrometheus(folder: string, deploy: string, target: string): Promise<Prometheus> {
  const program = findProgram({ names: ['prometheus'], debianPackage: 'prometheus' });
  mkdirSync(folder, { recursive: true });
  const read = (name: string): string => readFileSync(join(deploy, name), 'utf8');
  const configuration = read('prometheus.yml')
    .replace('gateway:9464', target)
    .replaceAll(/interval: \d+s/g, 'interval: 1s');
  writeFileSync(join(folder, 'prometheus.yml'), configuration);
  writeFileSync(join(folder, 'alerts.yml'), read('alerts.yml').replaceAll(/^( +for): \w+$/gm, '$1: 5s'));
  const port = await freePort();
  const options = [
    '--config.file=prometheus.yml',
    `--web.listen-address=127.0.0.1:${port}`,
    '--storage.tsdb.path=data',
  ];
  const child = tracked(spawn(program, options, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] }));
  let output = '';
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const address = `http://127.0.0.1:${port}`;
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const end = once(child, 'exit');
    child.kill('SIGTERM');
    await end;
  };
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(`prometheus did not start:\n${output}`);
    return fetch(`${address}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  }, 60_000).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return {
    alerts: async () => {
      const response = await fetch(`${address}/api/v1/alerts`);
      return ((await response.json()) as { data: { alerts: Alert[] } }).data.alerts;
    },
    stop,
  };
}
