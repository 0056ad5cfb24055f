/* page.js -- steps through the schedules of a page: see page.h.
 *
 * The address says what is shown: "#c3-2/7" is step 7 of the section c3-2, "#c3-2" its last step.
 * A link is a new entry of the history; a step replaces the entry, so that "back" leaves the
 * schedule.  All texts come from the page: of the steps from the JSON of the section (stages.h). */
"use strict";
(() => {
    const player = document.getElementById("player");
    const slider = player.querySelector("input");
    const buttons = player.querySelectorAll("button");
    const part = (name) => player.querySelector(`[data-show="${name}"]`);

    let open = null; /* the section that is shown */
    let now = 0; /* its step */
    let stages = []; /* the world before the first step and after each */
    let places = []; /* where each row of the diagram begins, and the last one ends */
    let mark, veil; /* over the rows of the step, and over what is later */
    let timer = 0;

    /* ---- the diagram ------------------------------------------------------------------------- */

    function add_shape(svg, name, before) {
        const shape = document.createElementNS(svg.namespaceURI, "path");
        shape.setAttribute("class", name);
        svg.insertBefore(shape, before);
        return shape;
    }

    function prepare(section) {
        const svg = section.querySelector("svg");
        const ground = svg.querySelector(".bg") || svg.querySelector("title");
        open = section;
        stages = JSON.parse(section.querySelector("script").textContent);
        places = svg.dataset.y.trim().split(" ").map(Number);
        mark = svg.querySelector(".mark") || add_shape(svg, "mark", ground.nextSibling);
        veil = svg.querySelector(".veil") || add_shape(svg, "veil", null);
        slider.max = stages.length - 1;
        section.querySelector(".view").append(player);
        section.classList.add("on");
        player.hidden = false;
    }

    /* A message that the server has not executed is drawn up to its lane. */
    function draw_diagram(stage) {
        const svg = open.querySelector("svg");
        const { width, height } = svg.viewBox.baseVal;
        const [first, last] = stage.rows;
        const begin = last < 0 ? 0 : places[first];
        const end = places[last + 1];
        const is_last = stage === stages[stages.length - 1];
        const server = svg.dataset.x - 12;
        const from = stage.is_half ? `M${server} ${places[last]}H${width}V` : `M0 ${end}H${width}V`;
        const to = stage.is_half ? `${height}H0V${end}H${server}Z` : `${height}H0Z`;
        mark.setAttribute("d", `M0 ${begin}H${width}V${end}H0Z`);
        veil.setAttribute("d", is_last ? "" : from + to);
    }

    /* ---- the states -------------------------------------------------------------------------- */

    function fill(list, texts, decorate) {
        list.replaceChildren(...texts.map((text, i) => {
            const item = document.createElement("li");
            item.textContent = text;
            if (decorate)
                decorate(item, i);
            return item;
        }));
    }

    function show(step) {
        now = Math.max(0, Math.min(step, stages.length - 1));
        const stage = stages[now];
        part("title").textContent = stage.title;
        part("says").textContent = stage.says;
        part("says").classList.toggle("fault", stage.is_bad);
        part("moral").textContent = stage.moral || "";
        fill(part("clients"), stage.clients.map((client) => client.says), (item, i) => {
            const name = document.createElement("b");
            name.textContent = String.fromCharCode(65 + i);
            item.className = `${stage.clients[i].is} ${name.textContent}`;
            item.prepend(name, " ");
        });
        fill(part("server"), stage.server);
        fill(part("way"), stage.way);
        slider.value = now;
        slider.setAttribute("aria-valuetext", `${stage.title}: ${stage.says}`);
        buttons.forEach((button) => {
            const is_back = button.dataset.go === "first" || button.dataset.go === "back";
            button.setAttribute("aria-disabled", now === (is_back ? 0 : stages.length - 1));
        });
        draw_diagram(stage);
    }

    /* The address follows when the reader rests: browsers limit how often it may change. */
    function go(step) {
        show(step);
        mark.scrollIntoView({ block: "nearest" });
        clearTimeout(timer);
        timer = setTimeout(() => history.replaceState(null, "", `#${open.id}/${now}`), 150);
    }

    /* ---- what the reader does ---------------------------------------------------------------- */

    function close() {
        player.hidden = true;
        open.classList.remove("on");
        open = null;
    }

    function follow_address() {
        const [id, step] = location.hash.slice(1).split("/");
        const named = document.getElementById(id) || document.querySelector("section.first");
        const section = named && named.matches("section") ? named : null;
        const was = open;

        clearTimeout(timer);
        if (was && was !== section) {
            const link = document.querySelector(`a[href="#${was.id}"]`);
            close();
            if (!section)
                link.focus({ preventScroll: true });
        }
        if (!section)
            return;
        if (was !== section)
            prepare(section);
        show(/^\d+$/.test(step) ? Number(step) : stages.length - 1);
        if (was !== section && id) {
            section.scrollIntoView();
            if (step)
                mark.scrollIntoView({ block: "nearest" });
            slider.focus({ preventScroll: true });
        }
    }

    function target_of(name) {
        const targets = {
            first: 0, Home: 0, back: now - 1, ArrowLeft: now - 1,
            last: stages.length - 1, End: stages.length - 1, on: now + 1, ArrowRight: now + 1,
        };
        return targets[name];
    }

    document.documentElement.classList.add("has-script");
    addEventListener("hashchange", follow_address);
    slider.addEventListener("input", () => go(Number(slider.value)));
    player.addEventListener("click", (event) => {
        const button = event.target.closest("button");
        if (button)
            go(target_of(button.dataset.go));
    });
    addEventListener("keydown", (event) => {
        const step = target_of(event.key);
        const is_here = event.target === document.body || (open && open.contains(event.target));
        if (!open || step === undefined || !is_here || event.altKey || event.ctrlKey ||
            event.metaKey || event.shiftKey)
            return;
        event.preventDefault();
        go(step);
    });
    addEventListener("click", (event) => {
        const svg = event.target.closest("svg");
        if (!svg || !open || !open.contains(svg))
            return;
        const box = svg.getBoundingClientRect();
        const y = (event.clientY - box.top) * svg.viewBox.baseVal.height / box.height;
        const row = places.findLastIndex((place) => place <= y);
        go(stages.findLastIndex((stage) => stage.rows[0] <= row));
    });
    follow_address();
})();
