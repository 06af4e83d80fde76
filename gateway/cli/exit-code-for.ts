import { CommanderError } from 'commander';
import { KeyOperationError, RevocationError } from '../auth/manage/key-operation-error.ts';
import { InvalidPermissionsError } from '../auth/permissions/permissions.ts';
import { StoreError, StoreFull } from '../store/store-error.ts';
import { BackupError } from '../backup/restore.ts';
import { SettingsError, type Settings } from '../config/settings.ts';
import { NetworkFilesError } from '../network-files/load-networks.ts';
import { UnsuitableRedis } from '../redis/check-redis.ts';
import { CommandError, exitCodes } from './exit-codes.ts';

const configurationErrors = [SettingsError, NetworkFilesError, StoreError];
/** StoreFull and KeyOperationError are StoreErrors, but nothing is invalid or missing: their check comes first. */
const failures = [InvalidPermissionsError, KeyOperationError, StoreFull, BackupError, UnsuitableRedis];

/**
 * Prints the message alone of an error that the operator can fix, and the stack of any other error.
 * @param err writes to standard error
 * @returns the exit code of the command
 */
export function exitCodeFor(
  error: unknown,
  err: (text: string) => void,
  settings: () => Pick<Settings, 'OPS_PORT'>,
): number {
  // Commander has already printed the message.
  if (error instanceof CommanderError) return error.exitCode;
  const code = codeOf(error);
  if (code !== undefined) {
    err(`${(error as Error).message}\n`);
    return code;
  }
  if (error instanceof Error && 'syscall' in error) {
    err(`${listenErrorText(error, settings()) ?? error.message}\n`);
    return exitCodes.failed.code;
  }
  err(`gatehouse: unexpected error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  return exitCodes.internal.code;
}

function codeOf(error: unknown): number | undefined {
  // If the store fails for one of the keys, what has to be done is about the store: its code is higher.
  if (error instanceof RevocationError)
    return Math.max(...error.failed.map((one) => codeOf(one.error) ?? exitCodes.internal.code));
  if (error instanceof CommandError) return error.exitCode;
  if (error instanceof KeyOperationError && error.kind === 'no-redis') return exitCodes.configuration.code;
  if (failures.some((kind) => error instanceof kind)) return exitCodes.failed.code;
  return configurationErrors.some((kind) => error instanceof kind) ? exitCodes.configuration.code : undefined;
}

interface ListenError extends Error {
  readonly code: string;
  readonly address: string;
  readonly port: number;
}

const listenReasons: Readonly<Record<string, (error: ListenError, setting: string) => string>> = {
  EADDRINUSE: ({ port }, setting) => `port ${port} is in use: stop the other process, or set another ${setting}`,
  EACCES: ({ port }, setting) => `no permission for port ${port}: set another ${setting}, 1024 or higher`,
  EADDRNOTAVAIL: ({ address }) => `HOST: this machine has no address ${address}`,
};

/** Makes a line with the setting to change. Undefined if the error is not about listening. */
export function listenErrorText(error: Error, { OPS_PORT }: Pick<Settings, 'OPS_PORT'>): string | undefined {
  if ((error as { syscall?: string }).syscall !== 'listen') return undefined;
  const listenError = error as ListenError;
  const setting = listenError.port === OPS_PORT ? 'OPS_PORT' : 'PORT';
  return listenReasons[listenError.code]?.(listenError, setting);
}
