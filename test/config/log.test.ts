import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openLog, shouldPrintReadableLog } from '../../gateway/config/log.ts';

const isoTime = String.raw`\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z`;

let folder: string;
let fd: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-log-'));
  fd = openSync(join(folder, 'log'), 'w');
});
afterEach(() => {
  closeSync(fd);
  rmSync(folder, { recursive: true });
});

/** What a log wrote for two lines. */
function written(isReadable: boolean): string {
  const log = openLog('info', isReadable, fd);
  log.info({ networks: ['base'] }, 'network files reloaded');
  log.warn('draining');
  return readFileSync(join(folder, 'log'), 'utf8');
}

describe('the log', () => {
  it('has one JSON object per line, with an ISO time', () => {
    const lines = written(false).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      {
        level: 30,
        time: expect.stringMatching(new RegExp(`^${isoTime}$`)) as string,
        networks: ['base'],
        msg: 'network files reloaded',
      },
      { level: 40, time: expect.any(String) as string, msg: 'draining' },
    ]);
  });

  it('is readable on a terminal: one line per event', () => {
    const lines = written(true).trimEnd().split('\n');
    expect(lines).toEqual([
      expect.stringMatching(
        new RegExp(`^\\[${isoTime}\\] INFO: network files reloaded \\{"networks":\\["base"\\]\\}$`),
      ),
      expect.stringMatching(new RegExp(`^\\[${isoTime}\\] WARN: draining$`)),
    ]);
  });

  it('is JSON in production, also on a terminal', () => {
    expect(shouldPrintReadableLog({ NODE_ENV: 'production' })).toBe(false);
  });
});
