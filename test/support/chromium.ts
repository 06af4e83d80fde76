import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { findProgram, type Program } from './find-program.ts';
import { eventually } from './eventually.ts';
import { tracked } from './child-processes.ts';

/** A headless Chromium process. */
export interface Chromium {
  /** Opens a tab with its own cookies and storage. It is closed at the end of the test: pages of the gateway are never idle. */
  open(url: string, options?: OpenOptions): Promise<Tab>;
  close(): Promise<void>;
}

export interface OpenOptions {
  readonly width?: number;
  readonly height?: number;
  readonly colours?: 'light' | 'dark';
  /** Opened before the tests, for all of them. */
  readonly stays?: boolean;
  /** JavaScript that runs before the page's own scripts, as a wallet extension does. */
  readonly before?: string;
}

export interface Tab {
  /** The value of a JavaScript expression in the page. A promise is awaited. */
  evaluate<T>(expression: string): Promise<T>;
  /** Waits until an expression is true. */
  waitFor(expression: string): Promise<void>;
  /** Presses and releases a key, as the user does. */
  press(key: 'Escape' | 'Enter'): Promise<void>;
  /** A PNG of the whole page. */
  screenshot(): Promise<Buffer>;
  /** Uncaught exceptions and console errors of the page, including Content-Security-Policy violations. */
  readonly errors: readonly string[];
}

type Message = {
  id?: number;
  method?: string;
  params?: Record<string, unknown>;
  result?: unknown;
  error?: unknown;
  sessionId?: string;
};

const WAIT_TIMEOUT_MS = 30_000;
const keyCodes = { Escape: 27, Enter: 13 };

const program: Program = {
  names: ['chromium', 'chromium-browser', 'google-chrome'],
  debianPackage: 'chromium',
};

/** Path of Chromium or Chrome. @throws if there is none and it cannot be installed */
export function findChromium(): string {
  return findProgram(program);
}

/** Starts a browser and controls it by https://chromedevtools.github.io/devtools-protocol. */
export async function startChromium(): Promise<Chromium> {
  const profile = mkdtempSync(join(tmpdir(), 'gatehouse-chromium-'));
  // Root has no sandbox; containers have little shared memory.
  const flags = ['--headless=new', '--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--hide-scrollbars'];
  const quiet = ['--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
  const args = [...flags, ...quiet, '--remote-debugging-port=0', `--user-data-dir=${profile}`, 'about:blank'];
  const child = tracked(spawn(findChromium(), args, { stdio: ['ignore', 'ignore', 'pipe'] }));
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const address = await new Promise<string>((resolve, reject) => {
    let output = '';
    child.stderr.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      const [, found] = /DevTools listening on (ws:\S+)/.exec(output) ?? [];
      if (found !== undefined) resolve(found);
    });
    child.once('error', reject);
    child.once('exit', () => {
      reject(new Error(`chromium did not start:\n${output}`));
    });
  });
  const connection = await DevToolsConnection.open(address);
  return {
    open: (url, options = {}) => openTab(connection, url, options),
    close: async () => {
      // Browser.close also ends the child processes, which write into the profile until they end.
      void connection.send('Browser.close').catch(() => undefined);
      await eventually(() => child.exitCode !== null || child.signalCode !== null, 5_000).catch(() =>
        child.kill('SIGKILL'),
      );
      await ended;
      rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    },
  };
}

async function openTab(
  connection: DevToolsConnection,
  url: string,
  { width = 1280, height = 800, colours = 'light', stays = false, before }: OpenOptions,
): Promise<Tab> {
  const { browserContextId } = await connection.send<{ browserContextId: string }>('Target.createBrowserContext');
  if (!stays)
    onTestFinished(async () => {
      await connection.send('Target.disposeBrowserContext', { browserContextId });
    });
  const { targetId } = await connection.send<{ targetId: string }>('Target.createTarget', {
    url: 'about:blank',
    browserContextId,
  });
  const { sessionId } = await connection.send<{ sessionId: string }>('Target.attachToTarget', {
    targetId,
    flatten: true,
  });
  const send = <T>(method: string, params: object = {}): Promise<T> => connection.send<T>(method, params, sessionId);
  const errors: string[] = [];
  connection.listen(sessionId, ({ method, params }) => {
    if (method === 'Runtime.exceptionThrown') errors.push(JSON.stringify(params));
    if (method === 'Log.entryAdded') {
      const { level, text } = params?.['entry'] as { level: string; text: string };
      if (level === 'error') errors.push(text);
    }
  });
  await Promise.all([send('Page.enable'), send('Runtime.enable'), send('Log.enable')]);
  await send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: width < 600 });
  await send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: colours }] });
  if (before !== undefined) await send('Page.addScriptToEvaluateOnNewDocument', { source: before });
  await send('Page.navigate', { url });
  const evaluate = async <T>(expression: string): Promise<T> => {
    const { result, exceptionDetails } = await send<{ result: { value: T }; exceptionDetails?: unknown }>(
      'Runtime.evaluate',
      { expression, awaitPromise: true, returnByValue: true, userGesture: true },
    );
    if (exceptionDetails !== undefined) throw new Error(`${expression}: ${JSON.stringify(exceptionDetails)}`);
    return result.value;
  };
  const waitFor = async (expression: string): Promise<void> => {
    const isTrue = (): Promise<boolean> => evaluate<boolean>(`Boolean(${expression})`).catch(() => false);
    await eventually(isTrue, WAIT_TIMEOUT_MS).catch((cause: unknown) => {
      throw new Error(`not true within ${WAIT_TIMEOUT_MS / 1_000} s: ${expression}`, { cause });
    });
  };
  await waitFor(`document.readyState === 'complete' && location.href !== 'about:blank'`);
  return {
    errors,
    evaluate,
    waitFor,
    press: async (key) => {
      const event = { key, code: key, windowsVirtualKeyCode: keyCodes[key], ...(key === 'Enter' && { text: '\r' }) };
      await send('Input.dispatchKeyEvent', { type: 'keyDown', ...event });
      await send('Input.dispatchKeyEvent', { type: 'keyUp', ...event });
    },
    screenshot: async () => {
      const { data } = await send<{ data: string }>('Page.captureScreenshot', { captureBeyondViewport: true });
      return Buffer.from(data, 'base64');
    },
  };
}

/** Sends commands of the DevTools protocol to the browser, and passes events to the listener of their session. */
class DevToolsConnection {
  readonly #socket: WebSocket;
  readonly #pending = new Map<number, (message: Message) => void>();
  readonly #listeners = new Map<string, (message: Message) => void>();
  #id = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString()) as Message;
      if (message.id === undefined) this.#listeners.get(message.sessionId ?? '')?.(message);
      else this.#pending.get(message.id)?.(message);
    });
  }

  static async open(address: string): Promise<DevToolsConnection> {
    const socket = new WebSocket(address);
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
    return new DevToolsConnection(socket);
  }

  listen(sessionId: string, listener: (message: Message) => void): void {
    this.#listeners.set(sessionId, listener);
  }

  send<T>(method: string, params: object = {}, sessionId?: string): Promise<T> {
    const id = ++this.#id;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, ({ result, error }) => {
        this.#pending.delete(id);
        if (error === undefined) resolve(result as T);
        else reject(new Error(`${method}: ${JSON.stringify(error)}`));
      });
      this.#socket.send(JSON.stringify({ id, method, params, sessionId }));
    });
  }
}
