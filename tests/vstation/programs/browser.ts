/**
 * The socket of a browser, in the machine: `browser.mjs URL`, with the access token in TOKEN. Prints every candidate as it comes, with the
 * machine's own time.
 */
import WebSocket from 'ws';

const [url = ''] = process.argv.slice(2);
const socket = new WebSocket(url);
socket.on('open', () => socket.send(JSON.stringify({ type: 'auth', token: process.env['TOKEN'] })));
socket.on('message', (data: Buffer) => {
  const atMs = performance.timeOrigin + performance.now();
  const { type, candidate } = JSON.parse(data.toString()) as { type: string; candidate?: { name: string } };
  if (type === 'provisioning_candidate') process.stdout.write(`${JSON.stringify({ atMs, name: candidate?.name })}\n`);
});
