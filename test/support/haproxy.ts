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

/**
 * Starts HAProxy with `deploy/haproxy.cfg`, changed to loopback and these gateways.
 * @param balance `by key`: as the file's comment says, for filters
 */
export function startHaproxy(
  replicas: readonly Replica[],
  balance: 'round robin' | 'by key' = 'round robin',
): Promise<Balancer> {
  return startBalancer({
    program: programs.haproxy,
    configuration: (_, port) => configuration(port, replicas, balance),
    args: (_, file) => ['-db', '-f', file],
  });
}

function configuration(port: number, replicas: readonly Replica[], balance: 'round robin' | 'by key'): string {
  const servers = replicas.map(
    ({ port, opsPort }, index) => `  server gateway-${index} 127.0.0.1:${port} check port ${opsPort}\n`,
  );
  const text = readFileSync(join(packageRoot, 'deploy/haproxy.cfg'), 'utf8');
  const [, byKey = ''] = /^ *# *(balance uri .*)$/m.exec(text) ?? [];
  return (
    text
      .replace(/^( *bind ):8080$/m, `$1127.0.0.1:${port}`)
      .replace('balance leastconn', balance === 'by key' ? byKey : 'balance roundrobin')
      .replace('inter 1s', 'inter 100ms')
      // Otherwise a check that takes longer than the interval fails, as on a slow machine.
      .replace(/^defaults$/m, 'defaults\n  timeout check 10s')
      .replace(/(^ *server .*\n)+/m, servers.join(''))
  );
}
