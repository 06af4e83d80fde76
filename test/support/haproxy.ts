import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../gateway/config/package.ts';
import { startBalancer, type Balancer } from './balancer.ts';
import { programs } from './programs.ts';

/** A gateway's two ports. */
export interface Replica {
  readonly port: number;
  readonly opsPort: number;
}

/** Starts HAProxy with `deploy/haproxy.cfg`, changed to loopback, round robin and these gateways. */
export function startHaproxy(replicas: readonly Replica[]): Promise<Balancer> {
  return startBalancer({
    program: programs.haproxy,
    configuration: (_, port) => configuration(port, replicas),
    args: (_, file) => ['-db', '-f', file],
  });
}

function configuration(port: number, replicas: readonly Replica[]): string {
  const servers = replicas.map(
    ({ port, opsPort }, index) => `  server gateway-${index} 127.0.0.1:${port} check port ${opsPort}\n`,
  );
  return (
    readFileSync(join(packageRoot, 'deploy/haproxy.cfg'), 'utf8')
      .replace(/^( *bind ):8080$/m, `$1127.0.0.1:${port}`)
      .replace('balance leastconn', 'balance roundrobin')
      .replace('inter 1s', 'inter 100ms')
      // Otherwise a check that takes longer than the interval fails, as on a slow machine.
      .replace(/^defaults$/m, 'defaults\n  timeout check 10s')
      .replace(/(^ *server .*\n)+/m, servers.join(''))
  );
}
