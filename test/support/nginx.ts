import { startBalancer, type Balancer } from './balancer.ts';
import { programs } from './programs.ts';

/** @param ports of the gateways */
export function startNginx(ports: readonly number[]): Promise<Balancer> {
  return startBalancer({
    program: programs.nginx,
    configuration: (folder, port) => configuration(folder, port, ports),
    args: (folder, file) => ['-p', folder, '-c', file, '-e', 'stderr'],
  });
}

/**
 * As docs/operations.md describes it. nginx does not read /readyz: a call that one gateway does not accept goes to the
 * next, and `max_fails=0` tries one again as soon as it is back. `non_idempotent`: the system resets connections that
 * are not accepted when listening ends, and nginx cannot know that the gateway has not read what it sent there.
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
