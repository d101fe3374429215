/** Configuration of the frontend's process. */
export type FrontendConfig = { host: string; port: number; webDir: string };

/** @returns null when a variable is missing. */
function envToFrontendConfig(env: Readonly<Record<string, string | undefined>>): FrontendConfig | null {
  const { HOST: host = '127.0.0.1', PORT: port, WEB_DIR: webDir } = env;
  return port === undefined || webDir === undefined ? null : { host, port: Number(port), webDir };
}

export const readFrontendConfig = (): FrontendConfig | null => envToFrontendConfig(process.env);
