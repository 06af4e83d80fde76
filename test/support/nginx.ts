import { startBalancer, type Balancer } from './balancer.ts';
import { programs } from './programs.ts';

/** Starts nginx as a load balancer. @param ports of the gateways */
export function startNginx(ports: readonly number[]): Promise<Balancer> {
  return startBalancer({
    program: programs.nginx,
    configuration: (folder, port) => configuration(folder, port, ports),
    args: (folder, file) => ['-p', folder, '-c', file, '-e', 'stderr'],
  });
}

/**
 * The configuration of docs/upgrading.md. nginx does not poll /readyz: it sends a call to the next gateway if one does
 * not accept the connection, and `max_fails=0` retries a restarted gateway immediately. `non_idempotent` is needed because
 * the kernel resets connections that are not yet accepted when listening ends. nginx cannot detect that the gateway did not
 * read the request on such a connection.
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
