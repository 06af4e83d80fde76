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
