import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../keys/eventually.ts';
import { findProgram } from './find-program.ts';
import { programs } from './programs.ts';
import { freePort } from './redis.ts';

/** A real nginx that spreads calls over several gateways. Whoever starts it calls `stop()` in the end. */
export interface Balancer {
  /** `http://127.0.0.1:<port>` */
  readonly address: string;
  /** What it complained of. */
  complaints(): string;
  stop(): Promise<void>;
}

/** @param ports of the gateways */
export async function startNginx(ports: readonly number[]): Promise<Balancer> {
  const program = findProgram(programs.nginx);
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-nginx-'));
  const port = await freePort();
  writeFileSync(join(folder, 'nginx.conf'), configuration(folder, port, ports));
  const child = spawn(program, ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const ended = once(child, 'exit');
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
    process.off('exit', kill);
    rmSync(folder, { recursive: true });
  };
  await eventually(() => isOpen(port), 5_000).catch(async () => {
    await stop();
    throw new Error(`nginx did not start:\n${said}`);
  });
  return { address: `http://127.0.0.1:${port}`, complaints: () => said, stop };
}

/**
 * As README has it. Nobody looks at /readyz here: each call that a gateway does not take goes to the next one, and
 * `max_fails=0` lets one that has just come back be tried at once. `non_idempotent`: connections that wait to be taken
 * when listening ends are reset by the system, and nginx cannot tell that nobody has read what it sent there.
 */
function configuration(folder: string, port: number, gateways: readonly number[]): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  return `
    daemon off; master_process off; pid ${folder}/pid;
    events { worker_connections 1024; }
    http {
      access_log off; ${temporary.join(' ')}
      upstream gateways {
        ${gateways.map((gateway) => `server 127.0.0.1:${gateway} max_fails=0;`).join(' ')}
        keepalive 16;
      }
      server {
        listen 127.0.0.1:${port};
        location / { proxy_pass http://gateways; proxy_http_version 1.1; proxy_set_header Connection "";
          proxy_next_upstream error non_idempotent; }
      }
    }`;
}

function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return once(socket, 'connect').then(
    () => {
      socket.destroy();
      return true;
    },
    () => false,
  );
}
