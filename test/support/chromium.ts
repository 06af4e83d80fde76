import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import { findProgram } from './find-program.ts';
import { programs } from './programs.ts';

/** A real browser without a screen. */
export interface Chromium {
  /** Opens a tab of its own, as a new visitor. */
  open(url: string, options?: OpenOptions): Promise<Tab>;
  close(): Promise<void>;
}

export interface OpenOptions {
  readonly width?: number;
  readonly height?: number;
  readonly colours?: 'light' | 'dark';
  /** JavaScript that runs before anything of the page does: what a wallet's extension would. */
  readonly before?: string;
}

export interface Tab {
  /** The value of a JavaScript expression in the page; what it promises is waited for. */
  evaluate<T>(expression: string): Promise<T>;
  /** Waits until an expression is true. */
  waitFor(expression: string): Promise<void>;
  /** A PNG of the whole page. */
  screenshot(): Promise<Buffer>;
  /** Errors of the page, and requests that its Content-Security-Policy blocked. */
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

const WAIT_MS = 15_000;

/** Path of Chromium, or of Chrome. @throws where there is none and none can be installed */
export function findChromium(): string {
  return findProgram(programs.chromium);
}

/** Starts a browser; speaks https://chromedevtools.github.io/devtools-protocol to it. */
export async function startChromium(): Promise<Chromium> {
  const profile = mkdtempSync(join(tmpdir(), 'gatehouse-chromium-'));
  // Root has no sandbox; containers have little shared memory.
  const flags = ['--headless=new', '--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--hide-scrollbars'];
  const quiet = ['--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
  const args = [...flags, ...quiet, '--remote-debugging-port=0', `--user-data-dir=${profile}`, 'about:blank'];
  const child = spawn(findChromium(), args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const address = await new Promise<string>((resolve, reject) => {
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      const [, found] = /DevTools listening on (ws:\S+)/.exec(said) ?? [];
      if (found !== undefined) resolve(found);
    });
    child.once('error', reject);
    child.once('exit', () => {
      reject(new Error(`chromium did not start:\n${said}`));
    });
  });
  const wire = await Wire.to(address);
  return {
    open: (url, options = {}) => openTab(wire, url, options),
    close: async () => {
      // By itself it ends its own processes, too, which write into the profile to the last.
      const limit = setTimeout(() => child.kill('SIGKILL'), 5_000);
      void wire.send('Browser.close').catch(() => undefined);
      await ended;
      clearTimeout(limit);
      rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    },
  };
}

async function openTab(
  wire: Wire,
  url: string,
  { width = 1280, height = 800, colours = 'light', before }: OpenOptions,
): Promise<Tab> {
  const { browserContextId } = await wire.send<{ browserContextId: string }>('Target.createBrowserContext');
  const { targetId } = await wire.send<{ targetId: string }>('Target.createTarget', {
    url: 'about:blank',
    browserContextId,
  });
  const { sessionId } = await wire.send<{ sessionId: string }>('Target.attachToTarget', { targetId, flatten: true });
  const send = <T>(method: string, params: object = {}): Promise<T> => wire.send<T>(method, params, sessionId);
  const errors: string[] = [];
  wire.listen(sessionId, ({ method, params }) => {
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
    const said = await send<{ result: { value: T }; exceptionDetails?: unknown }>('Runtime.evaluate', {
      ...{ expression, awaitPromise: true, returnByValue: true, userGesture: true },
    });
    if (said.exceptionDetails !== undefined) throw new Error(`${expression}: ${JSON.stringify(said.exceptionDetails)}`);
    return said.result.value;
  };
  const waitFor = async (expression: string): Promise<void> => {
    const limit = performance.now() + WAIT_MS;
    while (!(await evaluate<boolean>(`Boolean(${expression})`).catch(() => false))) {
      if (performance.now() > limit) throw new Error(`the condition did not become true: ${expression}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  await waitFor(`document.readyState === 'complete' && location.href !== 'about:blank'`);
  return {
    errors,
    evaluate,
    waitFor,
    screenshot: async () => {
      const { data } = await send<{ data: string }>('Page.captureScreenshot', { captureBeyondViewport: true });
      return Buffer.from(data, 'base64');
    },
  };
}

/** Requests to the browser, and what it tells by itself. */
class Wire {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (message: Message) => void>();
  readonly #listeners = new Map<string, (message: Message) => void>();
  #id = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString()) as Message;
      if (message.id === undefined) this.#listeners.get(message.sessionId ?? '')?.(message);
      else this.#waiting.get(message.id)?.(message);
    });
  }

  static async to(address: string): Promise<Wire> {
    const socket = new WebSocket(address);
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
    return new Wire(socket);
  }

  listen(sessionId: string, listener: (message: Message) => void): void {
    this.#listeners.set(sessionId, listener);
  }

  send<T>(method: string, params: object = {}, sessionId?: string): Promise<T> {
    const id = ++this.#id;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, ({ result, error }) => {
        this.#waiting.delete(id);
        if (error === undefined) resolve(result as T);
        else reject(new Error(`${method}: ${JSON.stringify(error)}`));
      });
      this.#socket.send(JSON.stringify({ id, method, params, sessionId }));
    });
  }
}
