// A bot that answers for people: reading is fine, removing is not, the rest
// waits for somebody. It is a NATS client and nothing else.
import { connect } from "@nats-io/transport-node";

function decide({ tool_name, arguments: args }) {
  if (/\b(rm|rmdir|del|delete|remove)\b/.test(`${tool_name} ${JSON.stringify(args)}`))
    return { action: "deny", note: "Nothing is removed here. Move it to trash/ instead." };
  if (/^(read|list|get)_\w+$/.test(tool_name)) return { action: "approve" };
}

async function whole(request) {
  if (!request.details.abridged) return request; // a large request in a list has no arguments
  return (await nc.request("heldcall.v1.svc.requests.get", JSON.stringify({ id: request.id }), { timeout: 10_000 })).json();
}

async function answer({ id, tool_name, arguments: args }) {
  const decision = decide({ tool_name, arguments: args });
  console.log(id, JSON.stringify(tool_name), JSON.stringify(args), "->", decision ?? "waits for people");
  if (!decision) return;
  const reply = await nc.request(`heldcall.v1.decide.local.${id}`, JSON.stringify(decision), { timeout: 10_000 });
  const { status, code, message } = reply.json(); // the request as it now stands, or {code, message}
  console.log(id, status ?? `${code}: ${message}`);
}

const servers = process.env.NATS_URL ?? "nats://127.0.0.1:4143";
const nc = await connect({ servers }).catch((error) => {
  console.error(`no NATS at ${servers} (${error.message}): is heldcall running? NATS_URL names another server`);
  process.exit(1);
});
const requests = nc.subscribe("heldcall.v1.requests.>");
const waiting = await nc.request("heldcall.v1.svc.requests.list", '{"status":"pending","limit":500}', { timeout: 10_000 }); // asked before
console.log("ready");
for (const request of waiting.json().items) await answer(await whole(request));
for await (const message of requests) await answer(message.json());
