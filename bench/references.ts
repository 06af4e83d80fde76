import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram, onPath } from '../test/support/find-program.ts';
import { programs } from '../test/support/programs.ts';
import { pinned } from './pinning.ts';
import { freePorts, node, pidOf, start, untilOpen } from './processes.ts';

/** A program with which the gateway is compared. */
export interface Reference {
  readonly port: number;
  readonly pid: number;
  /** The path of calls. Undefined: any. */
  readonly path?: string;
}

/** One worker, keep-alive connections on both sides, and buffers for the largest response, so that none goes to disk. */
export async function startNginx(folder: string, upstream: number): Promise<Reference> {
  const [port = 0] = await freePorts(1);
  mkdirSync(folder, { recursive: true });
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder};`);
  // With `master_process off`, the startReference process does the work itself.
  const configuration = `
    master_process off; daemon off; pid ${folder}/nginx.pid; error_log /dev/null;
    events { worker_connections 4096; }
    http {
      access_log off; keepalive_requests 100000000; client_body_buffer_size 256k; ${temporary.join(' ')}
      upstream fixed { server 127.0.0.1:${upstream}; keepalive 512; keepalive_requests 100000000; }
      server {
        listen 127.0.0.1:${port};
        location / {
          proxy_pass http://fixed; proxy_http_version 1.1; proxy_set_header Connection "";
          proxy_buffers 16 32k; proxy_busy_buffers_size 128k;
        }
      }
    }`;
  writeFileSync(join(folder, 'nginx.conf'), configuration);
  const args = ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', '/dev/null'];
  return startReference(port, findProgram(programs.nginx), args);
}

/** @returns undefined if HAProxy is not installed */
export async function startHaproxy(folder: string, upstream: number): Promise<Reference | undefined> {
  const program = onPath(['haproxy']);
  if (program === undefined) return undefined;
  const [port = 0] = await freePorts(1);
  const file = join(folder, 'haproxy.cfg');
  const configuration = `
global
  nbthread 1
  maxconn 2000
defaults
  mode http
  http-reuse always
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend callers
  bind 127.0.0.1:${port}
  default_backend fixed
backend fixed
  server fixed 127.0.0.1:${upstream}
`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, configuration);
  return startReference(port, program, ['-db', '-q', '-f', file]);
}

export async function startBareProxy(upstream: number): Promise<Reference> {
  const [port = 0] = await freePorts(1);
  const script = join(dirname(fileURLToPath(import.meta.url)), 'bare-proxy.js');
  return startReference(port, node, [script, String(port), String(upstream)]);
}

async function startReference(port: number, file: string, args: readonly string[]): Promise<Reference> {
  const child = start(...pinned(file, args));
  await untilOpen(port);
  return { port, pid: pidOf(child) };
}
