import type { Settings } from '../config/settings.ts';

interface ListenError extends Error {
  readonly code: string;
  readonly address: string;
  readonly port: number;
}

const reasons: Readonly<Record<string, (error: ListenError, setting: string) => string>> = {
  EADDRINUSE: ({ port }, setting) => `port ${port} is in use: stop the other process, or set another ${setting}`,
  EACCES: ({ port }, setting) => `no permission for port ${port}: set another ${setting}, 1024 or higher`,
  EADDRNOTAVAIL: ({ address }) => `HOST: this machine has no address ${address}`,
};

/** Makes a line with the setting to change. Undefined if the error is not about listening. */
export function listenErrorText(error: Error, { OPS_PORT }: Pick<Settings, 'OPS_PORT'>): string | undefined {
  if ((error as { syscall?: string }).syscall !== 'listen') return undefined;
  const listenError = error as ListenError;
  const setting = listenError.port === OPS_PORT ? 'OPS_PORT' : 'PORT';
  return reasons[listenError.code]?.(listenError, setting);
}
