/**
 * For `page.addInitScript`: a serial port with an Improv device behind it (improv-wifi.com, "Improv via Serial"). The network that it joined
 * is in `window.improvJoined`; it refuses the password "wrong password".
 */
export const improvSerialPort = `
(() => {
  const header = [...'IMPROV'].map((c) => c.charCodeAt(0)).concat(1);
  const text = new TextEncoder();
  let state = 2;
  const packet = (type, data) => {
    const bytes = [...header, type, data.length, ...data];
    return Uint8Array.from([...bytes, bytes.reduce((s, b) => (s + b) & 255, 0), 10]);
  };
  const strings = (command, list) => {
    const data = list.flatMap((one) => { const b = text.encode(one); return [b.length, ...b]; });
    return packet(4, [command, data.length, ...data]);
  };
  let send;
  let buffer = [];
  const receive = (bytes) => {
    buffer.push(...bytes);
    while (buffer.length >= 9) {
      while (buffer.length && buffer[0] !== 73) buffer.shift();
      if (buffer.length < 9) return;
      const length = buffer[8];
      if (buffer.length < 9 + length + 1) return;
      const data = buffer.slice(9, 9 + length);
      buffer = buffer.slice(9 + length + 1);
      const [command, , ...rest] = data;
      if (command === 2) { send(packet(1, [state])); if (state === 4) send(strings(2, [])); }
      if (command === 3) send(strings(3, ['Fake', '1.0', 'ESP32', 'Garden lamp']));
      if (command === 4) { send(strings(4, ['Home net', '-50', 'YES'])); send(strings(4, [])); }
      if (command === 1) {
        const ssid = new TextDecoder().decode(Uint8Array.from(rest.slice(1, 1 + rest[0])));
        const password = new TextDecoder().decode(Uint8Array.from(rest.slice(2 + rest[0])));
        send(packet(1, [3]));
        if (password === 'wrong password') { send(packet(1, [2])); send(packet(2, [3])); continue; }
        window.improvJoined = ssid;
        setTimeout(() => { state = 4; send(packet(1, [4])); send(strings(1, [])); }, 300);
      }
      if (command === 7 || command === 5 || command === 6) { send(packet(2, [2])); }
    }
  };
  const port = {
    readable: null, writable: null,
    async open() {
      port.readable = new ReadableStream({ start(c) { send = (b) => { try { c.enqueue(b); } catch {} }; } });
      port.writable = new WritableStream({ write: (bytes) => receive(bytes) });
    },
    async close() { port.readable = null; port.writable = null; },
    getInfo: () => ({}),
  };
  Object.defineProperty(navigator, 'serial', { configurable: true, value: { requestPort: async () => port } });
})();
`;
